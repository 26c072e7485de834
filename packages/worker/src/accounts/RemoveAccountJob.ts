import { AccountRemoval } from "@berth/domain/accounts/AccountRemoval"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { RemoveAccount } from "@berth/domain/jobs/Job"
import { JobIsHopeless, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"

/** Deletes the rows of an account, and then its cell and files: once the rows are gone nothing brings a cell up again. Doing it again changes nothing. */
export const removeAccount = Effect.fn("RemoveAccountJob")(function* (job: RunningJob) {
  const { userId } = yield* Effect.mapError(
    Schema.decodeUnknown(RemoveAccount.payload)(job.payload),
    ({ message }) => new JobIsHopeless({ reason: `the payload is not that of ${RemoveAccount.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "user.id": userId })
  yield* Effect.flatMap(AccountRemoval, (removal) => removal.remove(userId))
  yield* Effect.flatMap(AgentManager, (manager) => manager.remove(userId))
})
