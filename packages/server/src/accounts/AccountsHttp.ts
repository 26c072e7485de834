import { WebApi } from "@berth/api/WebApi"
import { AccountDeletion } from "@berth/domain/accounts/AccountDeletion"
import { Accounts } from "@berth/domain/accounts/Accounts"
import { Credentials } from "@berth/domain/accounts/Credentials"
import type { User } from "@berth/domain/accounts/User"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect, Option } from "effect"
import { tellRetryAfter } from "../limits/RateLimitsHttp.ts"
import { SessionCookie } from "../sessions/SessionCookie.ts"

const settingsOf = ({ credits, email, id, name, plan, twoFactorEnabled }: User) => ({
  id,
  email,
  name,
  plan,
  credits,
  twoFactorEnabled
})

export const layer = HttpApiBuilder.group(WebApi, "accounts", (handlers) =>
  Effect.map(
    Effect.all([Accounts, AccountDeletion, Credentials, SessionCookie]),
    ([accounts, deletion, credentials, cookie]) =>
      handlers
        .handle("register", ({ payload }) =>
          Effect.map(accounts.register(payload), ({ email, id, name }) => ({ id, email, name }))
        )
        .handle("settings", () => Effect.map(CurrentUser, ({ user }) => settingsOf(user)))
        .handle("changeSettings", ({ payload }) =>
          Effect.flatMap(CurrentUser, ({ user }) =>
            Effect.map(
              Effect.tapErrorTag(accounts.changeSettings(user.id, payload), "TooManyRequests", tellRetryAfter),
              settingsOf
            )
          )
        )
        .handle("patchSettings", ({ payload: { name, notifications } }) =>
          Effect.flatMap(CurrentUser, ({ user }) =>
            Effect.map(accounts.changeSettings(user.id, { name, notifications }), (changed) => ({
              ...settingsOf(changed),
              notifications: changed.notifications
            }))
          )
        )
        .handle("changePassword", ({ payload: { currentPassword, newPassword } }) =>
          Effect.flatMap(CurrentUser, (current) =>
            credentials
              .change(current, { current: currentPassword, next: newPassword })
              .pipe(Effect.tapErrorTag("TooManyRequests", tellRetryAfter), Effect.as({ success: true }))
          )
        )
        .handle("deleteAccount", ({ payload: { password } }) =>
          Effect.flatMap(CurrentUser, (current) => deletion.delete(current, Option.fromNullable(password))).pipe(
            Effect.tapErrorTag("TooManyRequests", tellRetryAfter),
            Effect.as(cookie.clear(HttpServerResponse.unsafeJson({ success: true })))
          )
        )
  )
)
