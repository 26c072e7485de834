import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, Multipart, OpenApi } from "@effect/platform"
import { ChatSessionId } from "@berth/domain/interaction/Conversation"
import { Option, Schema } from "effect"
import { AgentNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { ModelNotFoundBody } from "../ai/AiErrorBodies.ts"
import {
  listModels,
  OpenAiCompletion,
  OpenAiCompletionPayload,
  retrieveModel,
  retrieveModelOfVendor
} from "../ai/OpenAiApi.ts"
import { EmbeddingList, EmbeddingPayload } from "../ai/EmbeddingBodies.ts"
import {
  ModelResponse,
  ResponseInputItems,
  ResponseInputQuery,
  ResponseNotFoundBody,
  ResponsePayload
} from "../ai/ResponsesApi.ts"
import { withOpenAiErrors, ParameterUnsupportedBody } from "../ai/OpenAiErrors.ts"
import { EventStream } from "../http/EventStream.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import {
  AttachmentInvalidBody,
  AttachmentLimitReachedBody,
  ImagesNotSupportedBody
} from "../interaction/AttachmentsApi.ts"
import {
  ChatSessionLimitReachedBody,
  ChatSessionNotFoundBody,
  MessageInvalidBody,
  MessageUnansweredBody,
  PendingMessageLimitReachedBody,
  RunningAgentNotFoundBody
} from "../interaction/InteractionErrorBodies.ts"
import { BudgetExceededBody, UnitsExhaustedBody } from "../billing/BillingErrorBodies.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { acceptApiKeys, ScopeMissingBody } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"
import { PaymentRequiredBody, PluginFailedBody } from "./GatewayErrorBodies.ts"
import { TtsFields } from "./speech/SpeechFields.ts"

export const completionsPath = "/v1/chat/completions"
const responsesPath = "/v1/responses"
export const audioTranscriptionsPath = "/v1/audio/transcriptions"

const agentModelPrefix = "agent/"

export const formatAgentModel = (id: AgentId): string => `${agentModelPrefix}${id}`

export const parseAgentModel = (model: string): Option.Option<AgentId> =>
  model.startsWith(agentModelPrefix) ? Option.some(AgentId.make(model.slice(agentModelPrefix.length))) : Option.none()

/** Header with the conversation to continue in requests, and the continued conversation in responses. */
export const conversationHeader = "x-session-id"

const conversationHeaders = Schema.Struct({
  [conversationHeader]: Schema.optional(
    ChatSessionId.annotations({ description: "For model agent/<id>: the conversation to continue" })
  )
})

const agentModel =
  "The model agent/<id> is one of the caller's agents: it receives the text and the images (`data:image/…` only) of the last message, continues its conversation with its memory and skills, and is charged as a message. API keys need the scope `chat` for it too."

/** Errors of a call whose model can be an agent. */
const completionErrors = Schema.Union(
  IdempotencyErrors,
  ParameterUnsupportedBody,
  ScopeMissingBody,
  ModelNotFoundBody,
  PaymentRequiredBody,
  RateLimitExceededBody,
  PluginFailedBody,
  MessageInvalidBody,
  AttachmentInvalidBody,
  AttachmentLimitReachedBody,
  ImagesNotSupportedBody,
  UnitsExhaustedBody,
  BudgetExceededBody,
  AgentNotFoundBody,
  RunningAgentNotFoundBody,
  ChatSessionNotFoundBody,
  ChatSessionLimitReachedBody,
  PendingMessageLimitReachedBody,
  MessageUnansweredBody
)

const createCompletion = HttpApiEndpoint.post("createChatCompletion", completionsPath)
  .setHeaders(conversationHeaders)
  .setPayload(OpenAiCompletionPayload)
  .addSuccess(OpenAiCompletion)
  .addSuccess(EventStream)
  .addError(completionErrors)
  .annotate(
    OpenApi.Description,
    `A completion in OpenAI's format, charged as a gateway call. Unsupported parameters are rejected by name. ${agentModel}`
  )
  .annotate(OpenApi.Summary, "Create a chat completion by a model or an agent")

const createResponse = HttpApiEndpoint.post("createResponse", responsesPath)
  .setHeaders(conversationHeaders)
  .setPayload(ResponsePayload)
  .addSuccess(ModelResponse)
  .addSuccess(EventStream)
  .addError(completionErrors)
  .addError(ResponseNotFoundBody)
  .annotate(
    OpenApi.Description,
    `An answer in the format of OpenAI's Responses, charged as a gateway call. Unless \`store\` is false, it is stored for 30 days: later calls continue it by \`previous_response_id\` or reference its items. Unsupported parameters are rejected by name; \`strict\` of tools is not enforced. ${agentModel}`
  )
  .annotate(OpenApi.Summary, "Create a response by a model or an agent")

const retrieveResponse = HttpApiEndpoint.get("retrieveResponse", `${responsesPath}/:id`)
  .setPath(Schema.Struct({ id: Schema.String }))
  .setUrlParams(Schema.Struct({ stream: Schema.optional(Schema.BooleanFromString) }))
  .addSuccess(ModelResponse)
  .addError(ResponseNotFoundBody)
  .addError(ParameterUnsupportedBody)
  .annotate(OpenApi.Description, "Returns the complete stored answer; `stream` is not supported.")
  .annotate(OpenApi.Summary, "Retrieve a stored response")

const listResponseInput = HttpApiEndpoint.get("listResponseInput", `${responsesPath}/:id/input_items`)
  .setPath(Schema.Struct({ id: Schema.String }))
  .setUrlParams(ResponseInputQuery)
  .addSuccess(ResponseInputItems)
  .addError(ResponseNotFoundBody)
  .addError(ParameterUnsupportedBody)
  .annotate(
    OpenApi.Description,
    "The input items of the stored answer, newest first. Items of earlier answers are listed at the ids of those answers."
  )
  .annotate(OpenApi.Summary, "List the input items of a stored response")

const deleteResponse = HttpApiEndpoint.del("deleteResponse", `${responsesPath}/:id`)
  .setPath(Schema.Struct({ id: Schema.String }))
  .addSuccess(Schema.Struct({ id: Schema.String, object: Schema.Literal("response"), deleted: Schema.Literal(true) }))
  .addError(ResponseNotFoundBody)
  .annotate(OpenApi.Description, "Deletes a stored answer with its input. Answers that continue it keep their items.")
  .annotate(OpenApi.Summary, "Delete a stored response")

const createEmbedding = HttpApiEndpoint.post("createEmbedding", "/v1/embeddings")
  .setPayload(EmbeddingPayload)
  .addSuccess(EmbeddingList)
  .addError(IdempotencyErrors)
  .addError(ModelNotFoundBody)
  .addError(UnitsExhaustedBody)
  .addError(BudgetExceededBody)
  .addError(RateLimitExceededBody)
  .addError(PluginFailedBody)
  .annotate(
    OpenApi.Description,
    "Embeddings of up to 512 texts, charged by their tokens, at least one unit. GET /v1/models lists the models if a provider has any."
  )
  .annotate(OpenApi.Summary, "Create embeddings")

const audio = HttpApiSchema.withEncoding(Schema.Uint8ArrayFromSelf, { kind: "Uint8Array", contentType: "audio/*" })

const createSpeech = HttpApiEndpoint.post("createSpeech", "/v1/audio/speech")
  .setPayload(TtsFields)
  .addSuccess(audio)
  .addError(IdempotencyErrors)
  .addError(PaymentRequiredBody)
  .addError(BudgetExceededBody)
  .addError(RateLimitExceededBody)
  .addError(PluginFailedBody)
  .annotate(OpenApi.Summary, "Create speech from text")

const createTranscription = HttpApiEndpoint.post("createTranscription", audioTranscriptionsPath)
  .setPayload(
    HttpApiSchema.Multipart(
      Schema.Struct({
        file: Multipart.SingleFileSchema,
        model: Schema.optional(Schema.String),
        language: Schema.optional(Schema.String),
        prompt: Schema.optional(Schema.String),
        response_format: Schema.optional(Schema.Literal("json", "text"))
      })
    )
  )
  .addSuccess(Schema.Struct({ text: Schema.String }))
  .addSuccess(HttpApiSchema.Text())
  .addError(IdempotencyErrors)
  .addError(ParameterUnsupportedBody)
  .addError(PaymentRequiredBody)
  .addError(BudgetExceededBody)
  .addError(RateLimitExceededBody)
  .addError(PluginFailedBody)
  .annotate(OpenApi.Summary, "Create a transcription of speech")

/** OpenAI's protocol on the public listener, charged like the gateway. Errors have OpenAI's format. */
export class OpenAiGatewayApi extends HttpApiGroup.make("openAiGateway")
  .add(createCompletion)
  .add(createResponse)
  .add(retrieveResponse)
  .add(listResponseInput)
  .add(deleteResponse)
  .add(createEmbedding)
  .add(createSpeech)
  .add(createTranscription)
  .add(
    listModels
      .addError(PluginFailedBody)
      .annotate(OpenApi.Description, "Lists the callable models, and the caller's agents as agent/<id>.")
  )
  .add(retrieveModel.addError(PluginFailedBody))
  .add(retrieveModelOfVendor.addError(PluginFailedBody))
  .middlewareEndpoints(PrincipalAuth)
  .annotateEndpointsContext(acceptApiKeys("gateway", withOpenAiErrors))
  .addError(InternalFailureBody) {}
