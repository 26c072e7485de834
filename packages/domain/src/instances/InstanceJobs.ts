import { Schema } from "effect"
import { defineJob } from "../jobs/JobKind.ts"
import { UserId } from "../shared/UserId.ts"

export const InstanceAction = Schema.Literal("start", "stop", "restart", "repair")
export type InstanceAction = typeof InstanceAction.Type

export const InstanceActionJob = defineJob({
  queue: "tasks",
  name: "act-on-instance",
  payload: Schema.Struct({ userId: UserId, action: InstanceAction })
})
