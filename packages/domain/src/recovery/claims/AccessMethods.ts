import { Context, type DateTime, Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

interface AccessMethod {
  readonly name: string
  /** Revokes credentials added at `since` or later. Joins the running transaction. */
  readonly revoke: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
}

/** All access methods of accounts. The program composes the list. */
export class AccessMethods extends Context.Tag("@berth/AccessMethods")<
  AccessMethods,
  {
    readonly names: ReadonlyArray<string>
    /** Revokes the credentials added at `since` or later, in the order of the list. Joins the running transaction. */
    readonly revokeAll: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
  }
>() {}

export const makeAccessMethods = (methods: ReadonlyArray<AccessMethod>): AccessMethods["Type"] => ({
  names: methods.map(({ name }) => name),
  revokeAll: Effect.fn("AccessMethods.revokeAll")(function* (userId: UserId, since: DateTime.Utc) {
    yield* Effect.forEach(methods, ({ revoke }) => revoke(userId, since), { discard: true })
  })
})
