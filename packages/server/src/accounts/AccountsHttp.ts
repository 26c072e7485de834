import { WebApi } from "@berth/api/WebApi"
import { ProfileSettings } from "@berth/domain/accounts/profile/ProfileSettings"
import { Registration } from "@berth/domain/accounts/registration/Registration"
import { PasswordChange } from "@berth/domain/accounts/password/PasswordChange"
import type { User } from "@berth/domain/shared/User"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

const settingsOf = ({ credits, email, id, name, plan, twoFactorEnabled }: User) => ({
  id,
  email,
  name,
  plan,
  credits,
  twoFactorEnabled
})

export const layer = group(WebApi, "accounts", (handlers) =>
  Effect.map(Effect.all([Registration, ProfileSettings, PasswordChange]), ([registration, profile, passwords]) =>
    handlers
      .handle("register", ({ payload }) =>
        Effect.map(registration.register(payload), ({ email, id, name }) => ({ id, email, name }))
      )
      .handle("settings", () => Effect.map(CurrentUser, ({ user }) => settingsOf(user)))
      .handle("changeSettings", ({ payload }) =>
        Effect.flatMap(CurrentUser, (current) =>
          Effect.map(
            Effect.tapErrorTag(profile.change(current, payload), "RateLimitExceeded", addRetryAfter),
            settingsOf
          )
        )
      )
      .handle("patchSettings", ({ payload: { name, notifications } }) =>
        Effect.flatMap(CurrentUser, (current) =>
          Effect.map(profile.change(current, { name, notifications }), (changed) => ({
            ...settingsOf(changed),
            notifications: changed.notifications
          }))
        )
      )
      .handle("changePassword", ({ payload: { currentPassword, newPassword } }) =>
        Effect.flatMap(CurrentUser, (current) =>
          passwords
            .change(current, { current: currentPassword, next: newPassword })
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter), Effect.as({ success: true }))
        )
      )
  )
)
