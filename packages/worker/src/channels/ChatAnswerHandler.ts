import { AnswerChatJob } from "@berth/domain/channels/ChannelJobs"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Begins to answer the waiting messages of a chat. A chat whose worker dies is resumed by `ChannelRecovery`. */
export const chatAnswerHandler = jobHandler(AnswerChatJob, (chat) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "agent.id": chat.agentId, "channel.platform": chat.platform }),
    Effect.flatMap(ChatAnswers, (answers) => answers.start(chat))
  )
)
