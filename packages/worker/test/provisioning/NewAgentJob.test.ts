import { AgentManager } from "@berth/domain/instances/AgentManager"
import { BackendIsUnavailable, CellIsUnavailable } from "@berth/domain/instances/InstanceErrors"
import { NewAgent } from "@berth/domain/jobs/Job"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Layer, Ref } from "effect"
import { newAgent } from "../../src/provisioning/NewAgentJob.ts"
import { noRemoval } from "../accounts/NoRemoval.ts"
import { handlerOf } from "../../src/jobs/JobHandlers.ts"
import { noMail } from "../jobs/NoMail.ts"

const job = (change: Partial<RunningJob> = {}): RunningJob => ({
  id: "job_1",
  name: NewAgent.name,
  payload: { agentId: "agt_1" },
  trace: null,
  attempt: 1,
  attempts: 5,
  ...change
})

/** A manager that writes down what it was asked. */
const recording = (manager: Partial<typeof AgentManager.Service>) =>
  Effect.map(Ref.make<ReadonlyArray<string>>([]), (asked) => ({
    asked,
    layer: Layer.mock(AgentManager, {
      chat: () => {
        throw new Error("nobody chats here")
      },
      deploy: (agentId) =>
        Effect.zipRight(
          Ref.update(asked, (so) => [...so, `deploy ${agentId}`]),
          manager.deploy?.(agentId) ?? Effect.void
        ),
      giveUp: (agentId, reason) =>
        Effect.zipRight(
          Ref.update(asked, (so) => [...so, `give up ${agentId}: ${reason}`]),
          manager.giveUp?.(agentId, reason) ?? Effect.void
        )
    })
  }))

const down = new CellIsUnavailable({ reason: "the cell did not come up" })

describe("newAgent", () => {
  it.effect("deploys the agent", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({})
      yield* Effect.provide(newAgent(job({ attempt: 5 })), layer)
      assert.deepStrictEqual(yield* asked, ["deploy agt_1"])
    })
  )

  it.effect("fails without giving up while there are attempts left", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({ deploy: () => down })
      const failure = yield* Effect.flip(Effect.provide(newAgent(job({ attempt: 4 })), layer))
      assert.deepInclude(failure, { _tag: "CellIsUnavailable", reason: "the cell did not come up" })
      assert.deepStrictEqual(yield* asked, ["deploy agt_1"])
    })
  )

  it.effect("gives up with the last attempt, and still fails", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({ deploy: () => down })
      const failure = yield* Effect.flip(Effect.provide(newAgent(job({ attempt: 5 })), layer))
      assert.deepInclude(failure, { _tag: "CellIsUnavailable", reason: "the cell did not come up" })
      assert.deepStrictEqual(yield* asked, ["deploy agt_1", "give up agt_1: the cell did not come up"])
    })
  )

  it.effect("gives up after a defect too, without its text", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({ deploy: () => Effect.die(new Error("password=x")) })
      const exit = yield* Effect.exit(Effect.provide(newAgent(job({ attempt: 5 })), layer))
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.deepStrictEqual(yield* asked, ["deploy agt_1", "give up agt_1: the deployment failed unexpectedly"])
    })
  )

  it.effect("fails with the deployment's failure when it cannot even give up", () =>
    Effect.gen(function* () {
      const gone = new BackendIsUnavailable({ reason: "it does not answer" })
      const { layer } = yield* recording({ deploy: () => down, giveUp: () => gone })
      const failure = yield* Effect.flip(Effect.provide(newAgent(job({ attempt: 5 })), layer))
      assert.strictEqual(failure._tag, "CellIsUnavailable")
    })
  )

  it.effect("does not give up when it is only cut off", () =>
    Effect.gen(function* () {
      const deploying = yield* Deferred.make<void>()
      const { asked, layer } = yield* recording({
        deploy: () => Effect.zipRight(Deferred.succeed(deploying, undefined), Effect.never)
      })
      const running = yield* Effect.fork(Effect.provide(newAgent(job({ attempt: 5 })), layer))
      yield* Deferred.await(deploying)
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(yield* asked, ["deploy agt_1"])
    })
  )

  it.effect("has no hope for a payload that it cannot read", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({})
      for (const payload of [{}, null, "agt_1", { agentId: 7 }]) {
        const failure = yield* Effect.flip(Effect.provide(newAgent(job({ payload })), layer))
        assert.strictEqual(failure._tag, "JobIsHopeless")
      }
      assert.deepStrictEqual(yield* asked, [])
    })
  )
})

describe("handlerOf", () => {
  it.effect("knows new agents in the queue for provisioning", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({})
      yield* Effect.provide(handlerOf("provision")(job()), [layer, noMail, noRemoval])
      assert.deepStrictEqual(yield* asked, ["deploy agt_1"])
    })
  )

  it.effect("has no hope for jobs that it does not know, whatever their name", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* recording({})
      for (const [queue, name] of [
        ["tasks", NewAgent.name],
        ["provision", "toString"],
        ["provision", ""]
      ] as const) {
        const failure = yield* Effect.flip(Effect.provide(handlerOf(queue)(job({ name })), [layer, noMail, noRemoval]))
        assert.deepInclude(failure, {
          _tag: "JobIsHopeless",
          reason: `this worker knows no job "${name}" in the queue "${queue}"`
        })
      }
      assert.deepStrictEqual(yield* asked, [])
    })
  )
})
