import type { Options } from "@node-rs/argon2"
import { Effect, type Scope } from "effect"
import { once } from "node:events"
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"

/** Nice value of the threads: requests come first while every core is busy. */
export const niceValue = 5

// Only Linux has a priority for each thread; elsewhere the call would change the priority of the process.
const program = `
const { parentPort, workerData } = require("node:worker_threads")
const { hashSync, verifySync } = require(workerData.library)
if (process.platform === "linux") require("node:os").setPriority(workerData.niceValue)
parentPort.on("message", ({ hashed, parameters, password }) =>
  parentPort.postMessage(hashed === undefined ? hashSync(password, parameters) : verifySync(hashed, password)))
`

interface HashJob {
  readonly password: string
  readonly parameters: Options
}

interface VerifyJob {
  readonly password: string
  readonly hashed: string
}

const startThread = () =>
  new Worker(program, {
    eval: true,
    env: {},
    workerData: { library: createRequire(import.meta.url).resolve("@node-rs/argon2"), niceValue },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
  })

/** Threads for argon2id, one for each concurrent job, started on first use. The scope ends them. */
export const makeArgon2Threads: Effect.Effect<(job: HashJob | VerifyJob) => Promise<unknown>, never, Scope.Scope> =
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => ({ all: new Set<Worker>(), idle: new Array<Worker>() })),
      ({ all }) => Effect.promise(() => Promise.all([...all].map((thread) => thread.terminate())))
    ),
    ({ all, idle }) =>
      async (job) => {
        const thread = idle.pop() ?? startThread()
        all.add(thread)
        thread.ref()
        thread.postMessage(job)
        try {
          const answers: ReadonlyArray<unknown> = await once(thread, "message")
          idle.push(thread)
          return answers[0]
        } catch (cause) {
          all.delete(thread)
          throw cause
        } finally {
          thread.unref()
        }
      }
  )
