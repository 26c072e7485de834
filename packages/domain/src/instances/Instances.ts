import { Effect, type Redacted } from "effect"
import { AgentManager } from "./AgentManager.ts"
import { InstanceNotFound } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import type { UserId } from "../shared/UserId.ts"

/** The operations of an owner on the own instance. Callers have checked the ownership. */
export class Instances extends Effect.Service<Instances>()("@berth/Instances", {
  effect: Effect.gen(function* () {
    const repository = yield* InstanceRepository
    const manager = yield* AgentManager

    const find = Effect.fn("Instances.find")(function* (userId: UserId) {
      return yield* Effect.mapError(yield* repository.find(userId), () => new InstanceNotFound())
    })

    /** The token for the instance's own endpoints; the same at every call until it is revoked. */
    const ensureGatewayToken = Effect.fn("Instances.ensureGatewayToken")(function* (userId: UserId) {
      yield* find(userId)
      const token: Redacted.Redacted = yield* repository.ensureGatewayToken(userId)
      return token
    })

    /** Invalidates the token; `ensureGatewayToken` then makes another. */
    const revokeGatewayToken = Effect.fn("Instances.revokeGatewayToken")(function* (userId: UserId) {
      yield* repository.revokeGatewayToken(userId)
    })

    const listGatewayTokenVersions = Effect.fn("Instances.listGatewayTokenVersions")(function* (
      userIds: ReadonlyArray<UserId>
    ) {
      return yield* repository.listGatewayTokenVersions(userIds)
    })

    const findOwnerByRuntimeToken = Effect.fn("Instances.findOwnerByRuntimeToken")(function* (
      token: Redacted.Redacted
    ) {
      return yield* repository.findByRuntimeToken(token)
    })

    return {
      find,
      list: repository.list,
      findOwnerByRuntimeToken,
      ensureGatewayToken,
      listGatewayTokenVersions,
      recordUse: repository.recordUse,
      revokeGatewayToken,
      start: manager.start,
      stop: manager.stop,
      restart: manager.restart,
      update: manager.update,
      repair: manager.repair,
      logs: manager.logs,
      stats: manager.stats
    }
  })
}) {}
