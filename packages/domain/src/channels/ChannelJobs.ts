import { defineJob } from "../jobs/JobKind.ts"
import { ChannelKey } from "./ChannelConnection.ts"
import { ChatKey } from "./ChannelMessage.ts"

export const CheckChannelJob = defineJob({
  queue: "tasks",
  name: "check-channel",
  payload: ChannelKey,
  isCoalesced: true
})

export const AnswerChatJob = defineJob({
  queue: "tasks",
  name: "answer-chat",
  payload: ChatKey,
  isCoalesced: true
})
