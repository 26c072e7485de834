import { AgentManager } from "@berth/domain/instances/AgentManager"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { JobQueue, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Ref, Scope } from "effect"
import { unusedAccountRemoval } from "../recovery/AccountRemovalFake.ts"
import * as JobConsumers from "../../src/jobs/JobConsumers.ts"
import { unusedMailPorts } from "./MailerFake.ts"
import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"

const job: RunningJob = {
  id: "1",
  name: ProvisionAgentJob.name,
  payload: { agentId: "agt_1" },
  trace: null,
  attempt: 1,
  attempts: 5
}

const manager = Layer.mock(AgentManager, {
  chat: () => {
    throw new Error("nobody chats here")
  },
  deploy: () => Effect.void
})

describe("Consumers", () => {
  it.scoped("work on both queues with their caps, and close both at the same time", () =>
    Effect.gen(function* () {
      const working = yield* Ref.make<Record<string, unknown>>({})
      const bothClosing = { tasks: yield* Deferred.make<void>(), provision: yield* Deferred.make<void>() }
      const queue = Layer.succeed(JobQueue, {
        consume: (name, options, handle) =>
          Effect.gen(function* () {
            const exit = yield* Effect.exit(handle(job))
            yield* Ref.update(working, (so) => ({ ...so, [name]: { ...options, done: Exit.isSuccess(exit) } }))
            yield* Effect.addFinalizer(() =>
              // Each waits until the other closes as well.
              Effect.zipRight(
                Deferred.succeed(bothClosing[name], undefined),
                Deferred.await(bothClosing[name === "tasks" ? "provision" : "tasks"])
              )
            )
          }),
        add: () => Effect.void,
        counts: () => Effect.dieMessage("nobody counts here"),
        deadLetters: () => Effect.succeed([]),
        replay: () => Effect.succeed(false)
      })
      const scope = yield* Scope.make()
      const consumers = JobConsumers.layer({ concurrency: { tasks: 5, provision: 2 }, drain: "5 minutes" })
      const outbox = Layer.mock(Outbox, { settle: () => Effect.void })
      yield* Layer.buildWithScope(
        Layer.provide(consumers, [queue, manager, outbox, unusedMailPorts, unusedAccountRemoval]),
        scope
      )
      assert.deepStrictEqual(yield* working, {
        tasks: { concurrency: 5, drain: "5 minutes", done: false },
        provision: { concurrency: 2, drain: "5 minutes", done: true }
      })
      yield* Scope.close(scope, Exit.void)
    })
  )

  const outcomes: ReadonlyArray<
    readonly [string, Partial<RunningJob>, Effect.Effect<void, BackendUnavailable>, boolean]
  > = [
    ["is done", {}, Effect.void, true],
    ["failed for the last time", { attempt: 5 }, new BackendUnavailable({ reason: "down" }), true],
    ["is hopeless", { payload: "nonsense" }, Effect.void, true],
    ["runs again", { attempt: 4 }, new BackendUnavailable({ reason: "down" }), false],
    ["was cut off", { attempt: 5 }, Effect.interrupt, false]
  ]
  for (const [what, changes, deploys, isSettled] of outcomes)
    it.scoped(`${isSettled ? "settle" : "do not settle"} a job that ${what}`, () =>
      Effect.gen(function* () {
        const settled = yield* Ref.make<ReadonlyArray<string>>([])
        const queue = Layer.mock(JobQueue, {
          consume: (name, _options, handle) =>
            name === "tasks" ? Effect.void : Effect.asVoid(Effect.exit(handle({ ...job, ...changes })))
        })
        const deploying = Layer.mock(AgentManager, {
          chat: () => {
            throw new Error("nobody chats here")
          },
          deploy: () => deploys,
          failDeployment: () => Effect.void
        })
        const outbox = Layer.mock(Outbox, { settle: (id) => Ref.update(settled, (so) => [...so, id]) })
        const consumers = JobConsumers.layer({ concurrency: { tasks: 5, provision: 2 }, drain: "5 minutes" })
        yield* Layer.build(Layer.provide(consumers, [queue, deploying, outbox, unusedMailPorts, unusedAccountRemoval]))
        assert.deepStrictEqual(yield* settled, isSettled ? [job.id] : [])
      })
    )
})
