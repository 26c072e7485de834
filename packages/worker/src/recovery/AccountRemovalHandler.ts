import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { JobPermanentlyFailed, type RunningJob } from "@berth/domain/jobs/JobQueue"
import { Effect, Schema } from "effect"
import { RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"

/** Deletes the rows of an account, and then its cell and files: once the rows are gone nothing brings a cell up again. Doing it again changes nothing. */
export const handleAccountRemoval = Effect.fn("AccountRemovalHandler.handle")(function* (job: RunningJob) {
  const { userId } = yield* Effect.mapError(
    Schema.decodeUnknown(RemoveAccountJob.payload)(job.payload),
    ({ message }) =>
      new JobPermanentlyFailed({ reason: `the payload is not that of ${RemoveAccountJob.name}: ${message}` })
  )
  yield* Effect.annotateCurrentSpan({ "user.id": userId })
  yield* Effect.flatMap(AccountRemoval, (removal) => removal.remove(userId))
  yield* Effect.flatMap(AgentManager, (manager) => manager.remove(userId))
})
