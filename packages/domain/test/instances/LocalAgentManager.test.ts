import { AgentManager } from "@berth/domain/instances/AgentManager"
import { AgentRuntime } from "@berth/domain/instances/AgentRuntime"
import { InstanceDriver, InstanceHostUnavailable } from "@berth/domain/instances/InstanceDriver"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { BackendUnavailable } from "@berth/domain/instances/InstanceErrors"
import { InstanceReconciler } from "@berth/domain/instances/InstanceReconciler"
import * as LocalAgentManager from "@berth/domain/instances/LocalAgentManager"
import { OrphanCleanup } from "@berth/domain/instances/OrphanCleanup"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { sampleTurn } from "../../../../test/support/SampleTurn.ts"

const reason = "The Docker Engine cannot be reached."
const away = () => new InstanceHostUnavailable({ reason })
const userId = UserId.make("usr_1")
const agentId = AgentId.make("agt_1")

it.effect("LocalAgentManager reports an unavailable host of instances as an unavailable backend", () =>
  Effect.gen(function* () {
    const manager = yield* AgentManager
    const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
      manager.deploy(agentId),
      manager.failDeployment(agentId, "late"),
      manager.activate(agentId),
      manager.start(userId),
      manager.stop(userId),
      manager.restart(userId),
      manager.update(userId),
      manager.repair(userId),
      manager.reconfigure(userId),
      manager.remove(userId),
      manager.logs(userId, { limit: 1 }),
      manager.stats(userId),
      manager.measureStorage(userId),
      Effect.scoped(manager.chat(userId, sampleTurn))
    ]
    for (const call of calls) assert.deepStrictEqual(yield* Effect.flip(call), new BackendUnavailable({ reason }))
  }).pipe(
    Effect.provide(
      LocalAgentManager.layer.pipe(
        Layer.provide(
          Layer.mergeAll(
            Layer.mock(InstanceReconciler, {
              _tag: "@berth/InstanceReconciler",
              deploy: away,
              failDeployment: away,
              activate: away,
              start: away,
              stop: away,
              restart: away,
              update: away,
              repair: away,
              reconfigure: away,
              chat: away
            }),
            Layer.mock(OrphanCleanup, { _tag: "@berth/OrphanCleanup", remove: away }),
            Layer.mock(InstanceDriver, {
              exits: Stream.never,
              inspect: away,
              logs: away,
              stats: away,
              listOwners: away(),
              listRunning: away()
            }),
            Layer.mock(InstanceRepository, {}),
            Layer.mock(AgentRuntime, {})
          )
        )
      )
    )
  )
)
