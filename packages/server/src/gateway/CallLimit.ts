import { normalizeClientAddress } from "@berth/domain/limits/ClientAddress"
import { RateLimiter } from "@berth/domain/limits/RateLimiter"
import { Caller } from "@berth/domain/sessions/Caller"
import { useService } from "@berth/domain/shared/HotPath"
import type { User } from "@berth/domain/shared/User"
import { Effect, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"

/** The limit of gateway calls by payer. */
export const makeCallLimit = Effect.gen(function* () {
  const credentials = yield* RequestCredentials
  const limiter = yield* RateLimiter
  /** Counts a call on its user, else on its address. */
  const count = (user: Option.Option<User>) =>
    useService(Caller, ({ address }) =>
      limiter.take(
        "gateway",
        Option.match(user, {
          onNone: () => normalizeClientAddress(Option.getOrElse(address, () => "unknown")),
          onSome: ({ id }) => id
        })
      )
    )
  /** Returns the caller, if any; an invalid credential counts on the address. */
  const find = Effect.tapError(credentials.find, () => count(Option.none()))
  return { count, find }
})
