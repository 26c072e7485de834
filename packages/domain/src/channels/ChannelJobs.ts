import { defineJob } from "../jobs/JobKind.ts"
import { ChannelKey } from "./ChannelConnection.ts"
import { ChatKey } from "./ChannelMessage.ts"

/** Checks a connection with its platform. */
export const CheckChannelJob = defineJob({
  queue: "tasks",
  name: "check-channel",
  payload: ChannelKey,
  isCoalesced: true
})

/** Answers the pending messages of a chat. */
export const AnswerChatJob = defineJob({
  queue: "tasks",
  name: "answer-chat",
  payload: ChatKey,
  isCoalesced: true
})
