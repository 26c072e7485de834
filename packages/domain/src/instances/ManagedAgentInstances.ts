import { Effect, Layer, Option } from "effect"
import { ConfigurationNotApplied } from "../agents/AgentErrors.ts"
import { AgentInstances } from "../agents/AgentInstances.ts"
import { AgentManager } from "./AgentManager.ts"
import { makeSubdomain } from "./Instance.ts"
import { InstanceRepository } from "./InstanceRepository.ts"

/** Implements the agents' port of instances by their rows and the agent manager. */
export const layer = Layer.effect(
  AgentInstances,
  Effect.gen(function* () {
    const repository = yield* InstanceRepository
    const manager = yield* AgentManager
    return AgentInstances.of({
      ensure: (ownerId) => Effect.asVoid(repository.ensure(ownerId, makeSubdomain(ownerId))),
      describe: (ownerId) =>
        Effect.map(
          repository.find(ownerId),
          Option.getOrElse(() => ({ subdomain: makeSubdomain(ownerId), startedAt: null, runtimeVersion: null }))
        ),
      reconfigure: (ownerId) =>
        Effect.mapError(manager.reconfigure(ownerId), ({ reason }) => new ConfigurationNotApplied({ reason }))
    })
  })
)
