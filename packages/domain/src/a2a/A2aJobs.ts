import { Schema } from "effect"
import { defineJob } from "../jobs/JobKind.ts"
import { A2aMessageId, type A2aPriority } from "./A2aMessage.ts"

/**
 * Delivers a message. Levels have separate turn slots, since a turn that waits for the next message of its chain must
 * not wait for its own slot; urgent messages have separate slots too.
 */
export const makeDeliverA2aMessageJob = (level: number, priority: A2aPriority) =>
  defineJob({
    queue: "tasks",
    name: "deliver-a2a-message",
    payload: Schema.Struct({ id: A2aMessageId }),
    lane: `messages ${level} ${priority}`
  })
