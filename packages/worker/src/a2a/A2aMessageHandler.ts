import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { makeDeliverA2aMessageJob } from "@berth/domain/a2a/A2aJobs"
import { Effect } from "effect"
import { backgroundJobHandler } from "../jobs/JobHandler.ts"

export const a2aMessageHandler = backgroundJobHandler(
  makeDeliverA2aMessageJob(1, "normal"),
  ({ id }, { isLastAttempt }) => Effect.flatMap(A2aDelivery, ({ deliver }) => deliver(id, isLastAttempt))
)
