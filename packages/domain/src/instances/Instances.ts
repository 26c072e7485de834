import { Effect, type Redacted } from "effect"
import { AgentLog } from "./AgentLog.ts"
import { AgentManager } from "./AgentManager.ts"
import { InstanceNotFound } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { mergeLogPages, type RuntimeLogQuery } from "./RuntimeLog.ts"
import type { UserId } from "../shared/UserId.ts"
import { withExportedSpan } from "../shared/SpanExport.ts"

/** Operations of an owner on the own instance. Callers check ownership. */
export class Instances extends Effect.Service<Instances>()("@berth/Instances", {
  effect: Effect.gen(function* () {
    const repository = yield* InstanceRepository
    const manager = yield* AgentManager
    const agentLog = yield* AgentLog

    const find = Effect.fn("Instances.find")(function* (userId: UserId) {
      return yield* Effect.mapError(yield* repository.find(userId), () => new InstanceNotFound())
    })

    /** Returns the token for the instance's endpoints; constant until it is revoked. */
    const ensureGatewayToken = Effect.fn("Instances.ensureGatewayToken")(function* (userId: UserId) {
      yield* find(userId)
      const token: Redacted.Redacted = yield* repository.ensureGatewayToken(userId)
      return token
    })

    /** Invalidates the token; the next `ensureGatewayToken` creates a new one. */
    const revokeGatewayToken = repository.revokeGatewayToken

    const listGatewayTokenVersions = repository.listGatewayTokenVersions

    const findOwnerByRuntimeToken = Effect.fnUntraced(function* (token: Redacted.Redacted) {
      return yield* repository.findByRuntimeToken(token)
    }, withExportedSpan("Instances.findOwnerByRuntimeToken"))

    /** Entries of the instance, its host and the agents' channels, newest first. */
    const logs = Effect.fn("Instances.logs")((userId: UserId, query: RuntimeLogQuery) =>
      Effect.zipWith(manager.logs(userId, query), agentLog.read(userId, query), (ofInstance, others) =>
        mergeLogPages(ofInstance, others, query.limit)
      )
    )

    return {
      find,
      findOwnerBySubdomain: repository.findOwnerBySubdomain,
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
      logs,
      stats: manager.stats,
      measureStorage: manager.measureStorage
    }
  })
}) {}
