import { Scheduler } from "effect"

interface RequestScheduler extends Scheduler.Scheduler {
  /** Counts a request in, before its fiber starts. */
  readonly add: () => void
  /** Counts a request out. */
  readonly remove: () => void
}

/**
 * Hot path: under load, the fibers that became ready in a turn of the event loop run together, after its reads, so that
 * their code and data stay in the processor's caches from one to the next. A single request does not wait, but yields to
 * the event loop. Tasks have no priorities.
 */
export const makeRequestScheduler = (): RequestScheduler => {
  let ready: Array<Scheduler.Task> = []
  let isRunning = false
  const runReady = () => {
    const tasks = ready
    ready = []
    isRunning = true
    for (const task of tasks) task()
    isRunning = false
  }

  let open = 0
  // The open requests do not show the load: one that waits for nothing ends before the next one of its turn is read.
  let arrived = 0
  let arrivedBefore = 0
  const endTurn = () => {
    arrivedBefore = arrived
    arrived = 0
  }
  const isSingle = () => open === 1 && arrived <= 1 && arrivedBefore <= 1

  const scheduler = Scheduler.make((task) => {
    if (ready.push(task) > 1) return
    if (isSingle() && !isRunning) queueMicrotask(runReady)
    else setImmediate(runReady)
  })
  return Object.assign(scheduler, {
    add: () => {
      open += 1
      arrived += 1
      if (arrived === 1) setImmediate(endTurn)
    },
    remove: () => {
      open -= 1
    }
  })
}
