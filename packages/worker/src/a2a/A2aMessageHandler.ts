import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { DeliverA2aMessageJob } from "@berth/domain/a2a/A2aJobs"
import { Effect } from "effect"
import { backgroundJobHandler } from "../jobs/JobHandler.ts"

export const a2aMessageHandler = backgroundJobHandler(DeliverA2aMessageJob, ({ id }, { isLastAttempt }) =>
  Effect.flatMap(A2aDelivery, ({ deliver }) => deliver(id, isLastAttempt))
)
