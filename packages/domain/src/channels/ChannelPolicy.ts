import { Duration } from "effect"
import type { FloodLimits } from "./Chats.ts"

/** Maximum received messages per minute; further messages are dropped. */
export const floodLimits: FloodLimits = { chat: 20, agent: 300, bots: 5 }

/** A chat receives at most one notice per interval. */
export const noticeInterval = Duration.hours(1)

export const floodNotice = "You write faster than I can answer. I skip some messages until this slows down."

/** Maximum length of a recording to transcribe. */
export const maximumRecording = Duration.minutes(10)

export const failureNotice = "I could not answer this message. Please send it again."

/** Notices about refused messages, by cause. They reveal nothing about the owner's account. */
export const refusalNotices = {
  units: "I cannot answer at the moment. Please try again later.",
  budget: "I cannot answer at the moment. Please try again later.",
  agent: "I am not running at the moment. Please try again later.",
  owner: "I cannot answer at the moment. Please try again later.",
  plan: "I cannot answer here at the moment.",
  speech: "I cannot listen to voice messages. Please write to me."
} as const
export type RefusalCause = keyof typeof refusalNotices

/** Reasons in the agent's log, for its owner. */
export const refusalReasons: Record<RefusalCause, string> = {
  units: "no units and credits are left",
  budget: "a budget of the account or the agent is used up",
  agent: "the agent is not running",
  owner: "the account is suspended",
  plan: "the plan does not have the channel",
  speech: "no speech provider transcribes voice messages; the operator sets one for STT_MODEL"
}

/** Delay of the typing indicator; quicker answers show none. */
export const typingDelay = Duration.millis(500)

/** Interval of the typing indicator; platforms show it for at least five seconds. */
export const typingInterval = Duration.seconds(4)

/** Maximum age of the first attempt of a turn that cannot begin; then the message fails. */
export const turnRepeatLimit = Duration.minutes(10)

/** Returns the pause before the next attempt: the total time so far, between one second and half a minute. */
export const computeTurnPause = (sinceFirst: Duration.Duration): Duration.Duration =>
  Duration.clamp(sinceFirst, { minimum: Duration.seconds(1), maximum: Duration.seconds(30) })

/** Pause of a chat after an unexpected error. */
export const brokenChatPause = Duration.seconds(30)

/** Maximum chats that a worker answers at a time; a turn only waits for the backend. */
export const maximumAnsweredChats = 200

/** Maximum failed deliveries of a message, about a day. */
export const maximumSendFailures = 300

/** Returns the pause after a number of failed deliveries: doubles from one second to five minutes. */
export const computeSendPause = (failures: number): Duration.Duration =>
  Duration.min(Duration.seconds(2 ** Math.min(failures, 10)), Duration.minutes(5))

/** Platforms redeliver for at most a day; older message ids are not needed. */
export const channelMessageRetention = Duration.days(7)

/** Later messages of a chat start a new conversation. */
export const idleChatRetention = Duration.days(90)
