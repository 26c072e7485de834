import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { DateTime, Effect } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

/** A state whose ticket is too old to be taken again need not be remembered. */
export const layer = runHourlyTask(
  {
    span: "OAuthStateRetention.run",
    task: "forget used OAuth states",
    done: "Used OAuth states were forgotten",
    kind: "states"
  },
  Effect.flatMap(Effect.all([OAuthStateRepository, DateTime.now]), ([repository, now]) => repository.removeExpired(now))
)
