import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { RunningJob } from "@berth/domain/jobs/JobQueue"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Ref } from "effect"
import { agentProvisioningHandler } from "../../src/instances/AgentProvisioningHandler.ts"
import { findHandler } from "../../src/jobs/JobHandlers.ts"
import { unusedPorts } from "../jobs/UnusedPorts.ts"
import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"

const job = (change: Partial<RunningJob> = {}): RunningJob => ({
  id: "job_1",
  name: ProvisionAgentJob.name,
  payload: { agentId: "agt_1" },
  trace: null,
  attempt: 1,
  isLastAttempt: false,
  ...change
})

/** A manager that records its calls. */
const makeManager = (manager: Parameters<typeof AgentManagerTest.layerWithBehavior>[0]) =>
  Effect.map(Ref.make<ReadonlyArray<string>>([]), (calls) => ({
    calls,
    layer: AgentManagerTest.layerWithBehavior({
      deploy: (agentId) =>
        Effect.zipRight(
          Ref.update(calls, (all) => [...all, `deploy ${agentId}`]),
          manager.deploy?.(agentId) ?? Effect.void
        ),
      failDeployment: (agentId, reason) =>
        Effect.zipRight(
          Ref.update(calls, (all) => [...all, `fail ${agentId}: ${reason}`]),
          manager.failDeployment?.(agentId, reason) ?? Effect.void
        )
    })
  }))

const down = new InstanceUnavailable({ reason: "the instance did not start" })

describe("agentProvisioningHandler", () => {
  it.effect("agentProvisioningHandler deploys the agent", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({})
      yield* Effect.provide(agentProvisioningHandler.handle(job({ isLastAttempt: true })), layer)
      assert.deepStrictEqual(yield* calls, ["deploy agt_1"])
    })
  )

  it.effect("agentProvisioningHandler fails without failing the deployment while attempts are left", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({ deploy: () => down })
      const failure = yield* Effect.flip(Effect.provide(agentProvisioningHandler.handle(job({ attempt: 4 })), layer))
      assert.deepInclude(failure, { _tag: "InstanceUnavailable", reason: "the instance did not start" })
      assert.deepStrictEqual(yield* calls, ["deploy agt_1"])
    })
  )

  it.effect("agentProvisioningHandler fails the deployment and the job at the last attempt", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({ deploy: () => down })
      const failure = yield* Effect.flip(
        Effect.provide(agentProvisioningHandler.handle(job({ isLastAttempt: true })), layer)
      )
      assert.deepInclude(failure, { _tag: "InstanceUnavailable", reason: "the instance did not start" })
      assert.deepStrictEqual(yield* calls, ["deploy agt_1", "fail agt_1: the instance did not start"])
    })
  )

  it.effect("agentProvisioningHandler postpones the job in an outage of the backend, also at the last attempt", () =>
    Effect.gen(function* () {
      const gone = new BackendUnavailable({ reason: "it cannot be reached" })
      const { calls, layer } = yield* makeManager({ deploy: () => gone })
      const failure = yield* Effect.flip(
        Effect.provide(agentProvisioningHandler.handle(job({ isLastAttempt: true })), layer)
      )
      assert.strictEqual(failure._tag, "JobPostponed")
      assert.deepStrictEqual(yield* calls, ["deploy agt_1"])
    })
  )

  it.effect("agentProvisioningHandler fails the deployment after a defect, without its text", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({ deploy: () => Effect.die(new Error("password=x")) })
      const exit = yield* Effect.exit(
        Effect.provide(agentProvisioningHandler.handle(job({ isLastAttempt: true })), layer)
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      assert.deepStrictEqual(yield* calls, ["deploy agt_1", "fail agt_1: the deployment failed unexpectedly"])
    })
  )

  it.effect("agentProvisioningHandler fails with the deployment's failure when the deployment cannot be failed", () =>
    Effect.gen(function* () {
      const gone = new BackendUnavailable({ reason: "it does not respond" })
      const { layer } = yield* makeManager({ deploy: () => down, failDeployment: () => gone })
      const failure = yield* Effect.flip(
        Effect.provide(agentProvisioningHandler.handle(job({ isLastAttempt: true })), layer)
      )
      assert.strictEqual(failure._tag, "InstanceUnavailable")
    })
  )

  it.effect("agentProvisioningHandler does not fail the deployment when it is interrupted", () =>
    Effect.gen(function* () {
      const deploying = yield* Deferred.make<void>()
      const { calls, layer } = yield* makeManager({
        deploy: () => Effect.zipRight(Deferred.succeed(deploying, undefined), Effect.never)
      })
      const running = yield* Effect.fork(
        Effect.provide(agentProvisioningHandler.handle(job({ isLastAttempt: true })), layer)
      )
      yield* Deferred.await(deploying)
      yield* Fiber.interrupt(running)
      assert.deepStrictEqual(yield* calls, ["deploy agt_1"])
    })
  )

  it.effect("agentProvisioningHandler does not support a malformed payload", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({})
      for (const payload of [{}, null, "agt_1", { agentId: 7 }]) {
        const failure = yield* Effect.flip(Effect.provide(agentProvisioningHandler.handle(job({ payload })), layer))
        assert.strictEqual(failure._tag, "JobUnsupported")
      }
      assert.deepStrictEqual(yield* calls, [])
    })
  )
})

describe("findHandler", () => {
  it.effect("findHandler returns the handler of new agents for the queue of provisioning", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({})
      yield* Effect.provide(findHandler("provision")(job()), [unusedPorts, layer])
      assert.deepStrictEqual(yield* calls, ["deploy agt_1"])
    })
  )

  it.effect("findHandler does not support jobs of an unknown kind, whatever their name", () =>
    Effect.gen(function* () {
      const { calls, layer } = yield* makeManager({})
      for (const [queue, name] of [
        ["tasks", ProvisionAgentJob.name],
        ["provision", "toString"],
        ["provision", ""]
      ] as const) {
        const failure = yield* Effect.flip(Effect.provide(findHandler(queue)(job({ name })), [unusedPorts, layer]))
        assert.deepInclude(failure, {
          _tag: "JobUnsupported",
          reason: `This worker has no handler for ${name} in the queue ${queue}`
        })
      }
      assert.deepStrictEqual(yield* calls, [])
    })
  )
})
