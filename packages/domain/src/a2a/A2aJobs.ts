import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { A2aMessageId, type A2aPriority } from "./A2aMessage.ts"

const payload = Schema.Struct({ id: A2aMessageId })

/**
 * Delivers a message. Levels have separate turn slots, since a turn that waits for the next message of its chain must
 * not wait for its own slot; urgent messages have separate slots too.
 */
export const makeDeliverA2aMessageJob = (level: number, priority: A2aPriority) =>
  ({
    queue: "tasks",
    name: "deliver-a2a-message",
    payload,
    lane: `messages ${level} ${priority}`
  }) as const satisfies JobKind<typeof payload.Type, typeof payload.Encoded>
