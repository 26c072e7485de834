import { DateTime, Effect } from "effect"
import type { ExternalIdentity } from "./LinkedIdentity.ts"
import { LinkedIdentityRepository } from "./LinkedIdentityRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The identities at other providers that lead into accounts. Who asks has proved the identity before. */
export class LinkedIdentities extends Effect.Service<LinkedIdentities>()("@berth/LinkedIdentities", {
  effect: Effect.gen(function* () {
    const repository = yield* LinkedIdentityRepository

    /** The link of an identity, which nobody else looks at until the transaction ends. */
    const findForUpdate = Effect.fn("LinkedIdentities.findForUpdate")(function* (identity: ExternalIdentity) {
      yield* repository.lock(identity)
      return yield* repository.find(identity)
    })

    const link = Effect.fn("LinkedIdentities.link")(function* (
      userId: UserId,
      { issuer, provider, subject }: ExternalIdentity
    ) {
      yield* repository.insert({ provider, issuer, subject, userId, linkedAt: yield* DateTime.now })
      yield* Effect.logInfo("An identity was linked").pipe(Effect.annotateLogs({ userId, provider }))
    })

    /** Whether any leads into the account. */
    const hasAny = Effect.fn("LinkedIdentities.hasAny")(function* (userId: UserId) {
      return (yield* repository.listByUser(userId)).length > 0
    })

    /** Takes every identity from an account, once whoever is just coming by one is in. */
    const unlinkAll = Effect.fn("LinkedIdentities.unlinkAll")(function* (userId: UserId) {
      yield* Effect.forEach(yield* repository.listByUser(userId), repository.lock, { discard: true })
      yield* repository.removeByUser(userId)
    })

    return { findForUpdate, link, find: repository.find, hasAny, unlinkAll }
  })
}) {}
