import { AnswerChatJob } from "@berth/domain/channels/ChannelJobs"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Starts answering the pending messages of a chat. `ChannelRecovery` resumes a chat whose worker died. */
export const chatAnswerHandler = jobHandler(AnswerChatJob, (chat) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "agent.id": chat.agentId, "channel.platform": chat.platform }),
    Effect.flatMap(ChatAnswers, (answers) => answers.start(chat))
  )
)
