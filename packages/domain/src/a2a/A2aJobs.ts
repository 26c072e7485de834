import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { A2aMessageId } from "./A2aMessage.ts"

const payload = Schema.Struct({ id: A2aMessageId })

/** Gives a message to its receiver. */
export const DeliverA2aMessageJob = {
  queue: "tasks",
  name: "deliver-a2a-message",
  payload,
  lane: "messages"
} as const satisfies JobKind<typeof payload.Type, typeof payload.Encoded>

/** Does not wait for normal messages. */
export const DeliverUrgentA2aMessageJob = { ...DeliverA2aMessageJob, lane: "urgent-messages" } as const
