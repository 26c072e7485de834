import { Context, Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** A way into an account. */
export interface AccessMethod {
  readonly name: string
  /** Joins the running transaction. */
  readonly revoke: (userId: UserId) => Effect.Effect<void>
}

/** Every way into an account. The program composes the list. */
export class AccessMethods extends Context.Tag("@berth/AccessMethods")<
  AccessMethods,
  {
    readonly names: ReadonlyArray<string>
    /** Revokes every credential of the account, in the order of the list. Joins the running transaction. */
    readonly revokeAll: (userId: UserId) => Effect.Effect<void>
  }
>() {}

export const makeAccessMethods = (methods: ReadonlyArray<AccessMethod>): AccessMethods["Type"] => ({
  names: methods.map(({ name }) => name),
  revokeAll: Effect.fn("AccessMethods.revokeAll")(function* (userId: UserId) {
    yield* Effect.forEach(methods, ({ revoke }) => revoke(userId), { discard: true })
  })
})
