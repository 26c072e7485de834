import { AgentManager } from "@berth/domain/instances/AgentManager"
import { RemoveAccountJob } from "@berth/domain/recovery/deletion/AccountDeletionJobs"
import { AccountRemoval } from "@berth/domain/recovery/deletion/AccountRemoval"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Rows before the instance and its files: without rows nothing starts the instance again. */
export const accountRemovalHandler = jobHandler(RemoveAccountJob, ({ userId }) =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan({ "user.id": userId })
    yield* Effect.flatMap(AccountRemoval, (removal) => removal.remove(userId))
    yield* Effect.flatMap(AgentManager, (manager) => manager.remove(userId))
  })
)
