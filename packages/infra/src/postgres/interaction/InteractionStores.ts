import { Layer } from "effect"
import * as PostgresAgentOverviewRepository from "./PostgresAgentOverviewRepository.ts"
import * as PostgresAnswerStreams from "./PostgresAnswerStreams.ts"
import * as PostgresAttachmentRepository from "./PostgresAttachmentRepository.ts"
import * as PostgresConversationRepository from "./PostgresConversationRepository.ts"
import * as PostgresMemoryRepository from "./PostgresMemoryRepository.ts"
import * as PostgresTurnRepository from "./PostgresTurnRepository.ts"

export const layer = Layer.mergeAll(
  PostgresAgentOverviewRepository.layer,
  PostgresAnswerStreams.layer,
  PostgresAttachmentRepository.layer,
  PostgresConversationRepository.layer,
  PostgresMemoryRepository.layer,
  PostgresTurnRepository.layer
)
