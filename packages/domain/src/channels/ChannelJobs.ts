import type { JobKind } from "../jobs/JobKind.ts"
import { ChannelKey } from "./ChannelConnection.ts"
import { ChatKey } from "./ChannelMessage.ts"

/** Checks a connection with its platform. */
export const CheckChannelJob = {
  queue: "tasks",
  name: "check-channel",
  payload: ChannelKey,
  isCoalesced: true
} as const satisfies JobKind<ChannelKey, typeof ChannelKey.Encoded>

/** Answers the pending messages of a chat. */
export const AnswerChatJob = {
  queue: "tasks",
  name: "answer-chat",
  payload: ChatKey,
  isCoalesced: true
} as const satisfies JobKind<ChatKey, typeof ChatKey.Encoded>
