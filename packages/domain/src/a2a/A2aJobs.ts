import { Schema } from "effect"
import type { JobKind } from "../jobs/JobKind.ts"
import { A2aMessageId, type A2aPriority } from "./A2aMessage.ts"

const payload = Schema.Struct({ id: A2aMessageId })

/**
 * Gives a message to its receiver. A turn that waits for the next message of its chain must not wait for its own slot, so the
 * levels take turns apart, and urgent messages apart from others.
 */
export const makeDeliverA2aMessageJob = (level: number, priority: A2aPriority) =>
  ({
    queue: "tasks",
    name: "deliver-a2a-message",
    payload,
    lane: `messages ${level} ${priority}`
  }) as const satisfies JobKind<typeof payload.Type, typeof payload.Encoded>
