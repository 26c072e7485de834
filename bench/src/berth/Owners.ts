import { signUpClient, type SignedUpClient } from "@berth/test/e2e/WebClient"
import { Cookies } from "@effect/platform"
import { Array, Effect } from "effect"
import type { HttpRequest } from "../measure/TimedRequest.ts"
import type { HostedBerth } from "./HostedBerth.ts"
import type { UserId } from "@berth/domain/shared/UserId"

/** A signed-in user with the largest plan. */
export interface Owner {
  readonly userId: UserId
  readonly visitor: SignedUpClient
  /** The value of the `cookie` header. */
  readonly cookie: string
}

/** Password hashing takes one core per registration. */
const concurrency = 2

/** At least one. */
export const createOwners = (
  { berth, database }: HostedBerth,
  count: number
): Effect.Effect<Array.NonEmptyReadonlyArray<Owner>> =>
  Effect.gen(function* () {
    const visitors = yield* Effect.forEach(
      Array.makeBy(count, () => "owner"),
      (name) => Effect.orDie(signUpClient(berth.webUrl, name)),
      { concurrency }
    )
    const ids = Array.map(visitors, ({ userId }) => userId)
    yield* database.execute(
      `insert into subscriptions (user_id, plan, status, updated_at)
       select id, 'network', 'active', now() from unnest($1::text[]) as id`,
      [ids]
    )
    yield* database.execute(`update users set plan = 'network' where id = any($1::text[])`, [ids])
    return yield* Effect.forEach(visitors, (visitor) =>
      Effect.map(visitor.cookies, (jar) => ({
        userId: visitor.userId,
        visitor,
        cookie: Cookies.toCookieHeader(jar)
      }))
    )
  })

export const ownerGet = ({ cookie }: Owner, path: string): HttpRequest => ({
  method: "GET",
  path,
  headers: { cookie },
  expected: 200
})

export const ownerPost = ({ cookie }: Owner, path: string, body: unknown, expected = 200): HttpRequest => ({
  method: "POST",
  path,
  headers: { cookie, "content-type": "application/json" },
  body: JSON.stringify(body),
  expected
})
