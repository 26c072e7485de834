import { Duration } from "effect"
import type { FloodLimits } from "./Chats.ts"

/** Received messages per minute. Further ones are dropped. */
export const floodLimits: FloodLimits = { chat: 20, agent: 300, bots: 5 }

/** A chat receives at most one notice per interval. */
export const noticeInterval = Duration.hours(1)

export const floodNotice = "You write faster than I can answer. I skip some messages until this slows down."
