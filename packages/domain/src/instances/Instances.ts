import { Effect, type Redacted } from "effect"
import type { UserId } from "../accounts/User.ts"
import { AgentManager } from "./AgentManager.ts"
import { InstanceIsUnknown } from "./InstanceErrors.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { subdomainFor } from "./Subdomain.ts"

/** What an owner does with his instance. Callers have settled that it is his. */
export class Instances extends Effect.Service<Instances>()("@berth/Instances", {
  effect: Effect.gen(function* () {
    const repository = yield* InstanceRepository
    const manager = yield* AgentManager

    const find = Effect.fn("Instances.find")(function* (userId: UserId) {
      return yield* Effect.mapError(yield* repository.find(userId), () => new InstanceIsUnknown())
    })

    /** The owner's instance, made when he has none. */
    const ensure = Effect.fn("Instances.ensure")(function* (userId: UserId) {
      return yield* repository.ensure(userId, subdomainFor(userId))
    })

    /** The owner's token for the instance's own endpoints; the same at every call. */
    const gatewayToken = Effect.fn("Instances.gatewayToken")(function* (userId: UserId) {
      yield* find(userId)
      const token: Redacted.Redacted = yield* repository.gatewayToken(userId)
      return token
    })

    /** Whoever has the token gets in nowhere by it any more; the owner is given another when he asks. */
    const forgetGatewayToken = Effect.fn("Instances.forgetGatewayToken")(function* (userId: UserId) {
      yield* repository.forgetGatewayToken(userId)
    })

    const gatewayMarks = Effect.fn("Instances.gatewayMarks")(function* (userIds: ReadonlyArray<UserId>) {
      return yield* repository.gatewayMarks(userIds)
    })

    return {
      find,
      ensure,
      gatewayToken,
      gatewayMarks,
      forgetGatewayToken,
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
