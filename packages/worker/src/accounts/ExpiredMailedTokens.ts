import { MailedTokenRepository } from "@berth/domain/accounts/MailedTokenRepository"
import { DateTime, Effect } from "effect"
import { hourly } from "../jobs/Hourly.ts"

/** An expired link opens nothing any more; its token is only in the way. */
export const layer = hourly(
  {
    span: "ExpiredMailedTokens.sweep",
    task: "forget expired links",
    done: "Expired links were forgotten",
    kind: "links"
  },
  Effect.flatMap(Effect.all([MailedTokenRepository, DateTime.now]), ([repository, now]) =>
    repository.removeExpired(now)
  )
)
