import { OAuthStateRepository } from "@berth/domain/signin/OAuthStateRepository"
import { DateTime, Effect } from "effect"
import { hourly } from "../jobs/Hourly.ts"

/** A state whose ticket is too old to be taken again need not be remembered. */
export const layer = hourly(
  {
    span: "UsedOAuthStates.sweep",
    task: "forget used OAuth states",
    done: "Used OAuth states were forgotten",
    kind: "states"
  },
  Effect.flatMap(Effect.all([OAuthStateRepository, DateTime.now]), ([repository, now]) => repository.removeExpired(now))
)
