import { AnswerChatJob } from "@berth/domain/channels/ChannelJobs"
import { ChatAnswers } from "@berth/domain/channels/ChatAnswers"
import { Effect } from "effect"
import { jobHandler } from "../jobs/JobHandler.ts"

/** Answers the waiting messages of a chat. Concurrent jobs of one chat find it claimed. */
export const chatAnswerHandler = jobHandler(AnswerChatJob, (chat) =>
  Effect.zipRight(
    Effect.annotateCurrentSpan({ "agent.id": chat.agentId, "channel.platform": chat.platform }),
    Effect.flatMap(ChatAnswers, (answers) => answers.run(chat))
  )
)
