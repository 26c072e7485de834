import { Scheduler } from "effect"

/**
 * Hot path: under load, the fibers that became ready in a turn of the event loop run together, after its reads, so that
 * their code and data stay in the processor's caches from one to the next. A single request does not wait, but yields to
 * the event loop. Tasks have no priorities.
 */
export const makeRequestScheduler = (isSingle: () => boolean): Scheduler.Scheduler => {
  let ready: Array<Scheduler.Task> = []
  let isRunning = false
  const runReady = () => {
    const tasks = ready
    ready = []
    isRunning = true
    for (const task of tasks) task()
    isRunning = false
  }
  return Scheduler.make((task) => {
    if (ready.push(task) > 1) return
    if (isSingle() && !isRunning) queueMicrotask(runReady)
    else setImmediate(runReady)
  })
}
