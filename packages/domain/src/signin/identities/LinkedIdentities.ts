import { DateTime, Effect } from "effect"
import type { ExternalIdentity } from "./LinkedIdentity.ts"
import { LinkedIdentityRepository } from "./LinkedIdentityRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

/** External identities linked to accounts. Proofs are not checked here: callers pass verified identities. */
export class LinkedIdentities extends Effect.Service<LinkedIdentities>()("@berth/LinkedIdentities", {
  effect: Effect.gen(function* () {
    const repository = yield* LinkedIdentityRepository

    /** Locks the identity until the transaction ends. */
    const findForUpdate = Effect.fn("LinkedIdentities.findForUpdate")(function* (identity: ExternalIdentity) {
      yield* repository.lock(identity)
      return yield* repository.find(identity)
    })

    const link = Effect.fn("LinkedIdentities.link")(function* (
      userId: UserId,
      { issuer, provider, subject }: ExternalIdentity
    ) {
      yield* repository.insert({ provider, issuer, subject, userId, linkedAt: yield* DateTime.now })
      yield* Effect.logInfo("Identity linked").pipe(Effect.annotateLogs({ userId, provider }))
    })

    const hasAny = Effect.fn("LinkedIdentities.hasAny")(function* (userId: UserId) {
      return (yield* repository.listByUser(userId)).length > 0
    })

    /** Another subject of the same issuer is linked to the account. */
    const hasOtherSubject = Effect.fn("LinkedIdentities.hasOtherSubject")(function* (
      userId: UserId,
      { issuer, provider, subject }: ExternalIdentity
    ) {
      const linked = yield* repository.listByUser(userId)
      return linked.some((other) => other.provider === provider && other.issuer === issuer && other.subject !== subject)
    })

    /** Unlinks identities linked at `since` or later. Waits for sign-ins in progress with the user's identities. */
    const unlinkAll = Effect.fn("LinkedIdentities.unlinkAll")(function* (userId: UserId, since: DateTime.Utc) {
      yield* Effect.forEach(yield* repository.listByUser(userId), repository.lock, { discard: true })
      yield* repository.removeByUser(userId, since)
    })

    return { findForUpdate, link, find: repository.find, hasAny, hasOtherSubject, unlinkAll }
  })
}) {}
