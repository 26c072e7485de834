import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { DateTime, Effect } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

/** An expired link opens nothing any more; its token is only in the way. */
export const layer = runHourlyTask(
  {
    span: "MailedTokenRetention.run",
    task: "forget expired links",
    done: "Expired links were forgotten",
    kind: "links"
  },
  Effect.flatMap(Effect.all([MailedTokenRepository, DateTime.now]), ([repository, now]) =>
    repository.removeExpired(now)
  )
)
