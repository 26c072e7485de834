import { conversationHeader, formatAgentModel } from "@berth/api/gateway/OpenAiGatewayApi"
import type { OpenAiCompletionPayload } from "@berth/api/ai/OpenAiApi"
import type { OpenAiFrames } from "@berth/api/ai/OpenAiFrames"
import { makeUserMessage } from "@berth/api/ai/ChatMessageMapping"
import { ParameterUnsupported } from "@berth/api/ai/OpenAiErrors"
import { MessageUnansweredBody } from "@berth/api/interaction/InteractionErrorBodies"
import type { Agent } from "@berth/domain/agents/Agent"
import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import { readerFromStream, streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import type { AnswerEvent } from "@berth/domain/interaction/answers/AnswerEvent"
import type { AttachmentLimitReached } from "@berth/domain/interaction/attachments/Attachment"
import type { Attachments } from "@berth/domain/interaction/attachments/Attachments"
import type { ChatSession, ChatSessionId } from "@berth/domain/interaction/Conversation"
import { MessageInvalid, MessageUnanswered } from "@berth/domain/interaction/ConversationErrors"
import type { Conversations, OutgoingMessage } from "@berth/domain/interaction/conversations/Conversations"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { User } from "@berth/domain/shared/User"
import { HttpApiSchema, HttpServerResponse } from "@effect/platform"
import { Effect, Either, Schema, Stream } from "effect"
import { listModel } from "../ai/OpenAiHttp.ts"
import { findUnsupportedParameter } from "../ai/CompletionRequest.ts"
import { makeUncountedCompletion } from "../ai/CompletionAnswers.ts"
import { withTraceId } from "../http/TraceId.ts"
import { makeReplyHeaders, withInteractionRetryAfter } from "../interaction/AnswerResponse.ts"
import type { CompletionFormat } from "./CompletionFormat.ts"
import { respondCompletionFrames } from "./CompletionStream.ts"

const encodeFailure = Schema.encodeSync(MessageUnansweredBody)
const failureStatus = HttpApiSchema.getStatusError(MessageUnansweredBody)

const findUnsupported = (payload: OpenAiCompletionPayload) => {
  const refuse = (parameter: string, reason: string) => new ParameterUnsupported({ parameter, reason })
  if ((payload.tools?.length ?? 0) > 0) return refuse("tools", "an agent uses its own skills")
  if (payload.response_format !== undefined && payload.response_format.type !== "text")
    return refuse("response_format", "an agent answers in text")
  if (payload.stop !== undefined && payload.stop.length > 0) return refuse("stop", "an agent ends its answers itself")
  return findUnsupportedParameter(payload)
}

/** Decodes the data of images. The service fetches no addresses. */
const readImages = (
  parts: ReadonlyArray<ContentPart>
): Either.Either<ReadonlyArray<Uint8Array>, ParameterUnsupported> => {
  const sources = parts.flatMap((part) => (part.type === "image" ? [part.source] : []))
  const contents = sources.flatMap((source) => (source.type === "data" ? [Buffer.from(source.data, "base64")] : []))
  return contents.length === sources.length
    ? Either.right(contents)
    : Either.left(
        new ParameterUnsupported({ parameter: "messages", reason: "an agent reads images as data:image/… only" })
      )
}

type AttachFailure = Effect.Effect.Error<ReturnType<Attachments["attachImages"]>> | AttachmentLimitReached

interface ReceivedMessage {
  readonly message: string
  readonly images: ReadonlyArray<Uint8Array>
}

/**
 * Returns the last message. The agent stores the conversation and its configuration, so earlier messages are ignored.
 */
const readMessage = (
  payload: OpenAiCompletionPayload
): Either.Either<ReceivedMessage, MessageInvalid | ParameterUnsupported> => {
  const unsupported = findUnsupported(payload)
  if (unsupported !== null) return Either.left(unsupported)
  const { messages } = payload
  const last = messages.at(-1)
  if (last?.role !== "user") return Either.left(new MessageInvalid({ reason: "the last message must be the user's" }))
  const { content, parts = [] } = makeUserMessage(last.content)
  return Either.map(readImages(parts), (images) => ({ message: content, images }))
}

const toFrame =
  (frames: OpenAiFrames) =>
  (event: AnswerEvent): Effect.Effect<string> => {
    switch (event.type) {
      case "delta":
        return Effect.succeed(frames.delta({ content: event.text }))
      case "tool":
        return Effect.succeed("")
      case "done":
        return Effect.succeed(frames.end("stop"))
      case "failed":
        return Effect.map(withTraceId(encodeFailure(new MessageUnanswered(event))), (body) =>
          frames.error(failureStatus, body)
        )
    }
  }

export const listAgentModel = ({ createdAt, id }: Pick<Agent, "createdAt" | "id">) =>
  listModel({ id: formatAgentModel(id) }, Math.floor(createdAt.epochMillis / 1000))

/** Sends a message to an agent in one of OpenAI's protocols. */
export const makeAgentCompletion =
  (conversations: Conversations, attachments: Attachments) =>
  (
    user: User,
    agentId: AgentId,
    sessionId: ChatSessionId | undefined,
    payload: OpenAiCompletionPayload,
    created: number,
    format: CompletionFormat
  ) =>
    Effect.gen(function* () {
      const { images, message } = yield* readMessage(payload)
      const attach = (session: ChatSession) => attachments.attachImages(user.id, images, session)
      const toSend: OutgoingMessage<AttachFailure> = {
        message,
        agentId,
        sessionId,
        attach: images.length === 0 ? undefined : attach
      }
      const model = formatAgentModel(agentId)
      if (payload.stream !== true) {
        const { message: sent, reply } = yield* conversations.sendAndAwait(user, toSend)
        const answer = { id: sent.id, model, text: reply.content, toolCalls: [], finishReason: "stop" }
        return HttpServerResponse.unsafeJson(yield* format.makeBody(makeUncountedCompletion(answer, created)), {
          headers: { ...makeReplyHeaders(reply), [conversationHeader]: reply.sessionId }
        })
      }
      const { events, opening } = yield* conversations.send(user, toSend, { isResumable: false })
      return yield* respondCompletionFrames(
        format,
        { id: opening.message.id, model, created },
        (frames) =>
          readerFromStream(
            Stream.concat(
              Stream.make(frames.delta({ role: "assistant", content: "" })),
              Stream.mapEffect(streamFromReader(events), toFrame(frames))
            )
          ),
        { [conversationHeader]: opening.message.sessionId }
      )
    }).pipe(withInteractionRetryAfter)
