import { Effect, type Redacted } from "effect"
import type { UserId } from "../shared/User.ts"
import { AgentManager } from "./AgentManager.ts"
import { InstanceNotFound } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { makeSubdomain } from "./Subdomain.ts"

/** What an owner does with his instance. Callers have settled that it is his. */
export class Instances extends Effect.Service<Instances>()("@berth/Instances", {
  effect: Effect.gen(function* () {
    const repository = yield* InstanceRepository
    const manager = yield* AgentManager

    const find = Effect.fn("Instances.find")(function* (userId: UserId) {
      return yield* Effect.mapError(yield* repository.find(userId), () => new InstanceNotFound())
    })

    /** The owner's instance, made when he has none. */
    const ensure = Effect.fn("Instances.ensure")(function* (userId: UserId) {
      return yield* repository.ensure(userId, makeSubdomain(userId))
    })

    /** The owner's token for the instance's own endpoints; the same at every call. */
    const ensureGatewayToken = Effect.fn("Instances.ensureGatewayToken")(function* (userId: UserId) {
      yield* find(userId)
      const token: Redacted.Redacted = yield* repository.ensureGatewayToken(userId)
      return token
    })

    /** Whoever has the token gets in nowhere by it any more; the owner is given another when he asks. */
    const revokeGatewayToken = Effect.fn("Instances.revokeGatewayToken")(function* (userId: UserId) {
      yield* repository.revokeGatewayToken(userId)
    })

    const listGatewayTokenVersions = Effect.fn("Instances.listGatewayTokenVersions")(function* (
      userIds: ReadonlyArray<UserId>
    ) {
      return yield* repository.listGatewayTokenVersions(userIds)
    })

    return {
      find,
      ensure,
      ensureGatewayToken,
      listGatewayTokenVersions,
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
