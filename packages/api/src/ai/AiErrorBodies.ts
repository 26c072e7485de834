import {
  AiIsUnavailable,
  MessagesAreMissing,
  ModelIsUnknown,
  NoModelsAvailable,
  ProviderIsUnknown,
  TokenCountIsInvalid
} from "@berth/domain/ai/ModelErrors"
import { ProviderFailed } from "@berth/domain/ai/ModelChat"
import { ProviderName, TaskType } from "@berth/domain/ai/Model"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity } from "@effect/platform"
import { Schema } from "effect"
import { classOf, errorBody, errorFields } from "../http/ErrorBody.ts"
import { InternalKeyIsWrongBody } from "../http/InternalAuth.ts"

/** In production only the service's own processes use the AI layer; in development everybody on the machine. */
export class AiAccess extends HttpApiMiddleware.Tag<AiAccess>()("AiAccess", {
  failure: InternalKeyIsWrongBody,
  security: { internal: HttpApiSecurity.bearer }
}) {}

export const AiIsUnavailableBody = Schema.transform(
  Schema.Struct({
    ...errorFields("ai_unavailable"),
    status: Schema.Literal("error"),
    providers: Schema.Record({ key: Schema.String, value: Schema.Boolean })
  }).annotations({ identifier: "AiUnavailable" }),
  classOf(AiIsUnavailable),
  {
    strict: true,
    decode: ({ providers }) => new AiIsUnavailable({ providers }),
    encode: (failure) => ({
      status: "error" as const,
      error: "AI service unavailable",
      message: failure.message,
      code: "ai_unavailable" as const,
      providers: failure.providers
    })
  }
).annotations(HttpApiSchema.annotations({ status: 503, description: "No provider can be reached" }))

export const NoModelsAvailableBody = Schema.transform(
  Schema.Struct({ ...errorFields("no_models_available"), taskType: TaskType }).annotations({
    identifier: "NoModelsAvailable"
  }),
  classOf(NoModelsAvailable),
  {
    strict: true,
    decode: ({ taskType }) => new NoModelsAvailable({ taskType }),
    encode: (failure) => ({
      error: "No models available",
      message: failure.message,
      code: "no_models_available" as const,
      taskType: failure.taskType
    })
  }
).annotations(HttpApiSchema.annotations({ status: 404, description: "No model is available" }))

export const ModelIsUnknownBody = Schema.transform(
  Schema.Struct({ ...errorFields("model_not_found"), model: Schema.String }).annotations({
    identifier: "ModelNotFound"
  }),
  classOf(ModelIsUnknown),
  {
    strict: true,
    decode: ({ model }) => new ModelIsUnknown({ model }),
    encode: (failure) => ({
      error: "Model not found",
      message: failure.message,
      code: "model_not_found" as const,
      model: failure.model
    })
  }
).annotations(HttpApiSchema.annotations({ status: 404, description: "There is no such model" }))

export const ProviderIsUnknownBody = Schema.transform(
  Schema.Struct({ ...errorFields("provider_not_found"), provider: Schema.String }).annotations({
    identifier: "ProviderNotFound"
  }),
  classOf(ProviderIsUnknown),
  {
    strict: true,
    decode: ({ provider }) => new ProviderIsUnknown({ provider }),
    encode: (failure) => ({
      error: "Provider not found",
      message: failure.message,
      code: "provider_not_found" as const,
      provider: failure.provider
    })
  }
).annotations(HttpApiSchema.annotations({ status: 404, description: "There is no such provider" }))

export const MessagesAreMissingBody = errorBody(MessagesAreMissing, {
  status: 400,
  code: "messages_missing",
  error: "Messages missing",
  message: (failure) => failure.message,
  read: () => new MessagesAreMissing()
})

export const TokenCountIsInvalidBody = Schema.transform(
  Schema.Struct({
    ...errorFields("invalid_token_count"),
    field: Schema.Literal("inputTokens", "outputTokens")
  }).annotations({ identifier: "InvalidTokenCount" }),
  classOf(TokenCountIsInvalid),
  {
    strict: true,
    decode: ({ field }) => new TokenCountIsInvalid({ field }),
    encode: (failure) => ({
      error: "Invalid token count",
      message: failure.message,
      code: "invalid_token_count" as const,
      field: failure.field
    })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "A token count is negative" }))

/** Every model that fits was asked and none answered. */
export const ProviderFailedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("provider_failed"),
    provider: ProviderName,
    kind: Schema.Literal("unreachable", "timeout", "rate-limited", "unauthorized", "refused", "overloaded", "nonsense")
  }).annotations({ identifier: "ProviderFailed" }),
  classOf(ProviderFailed),
  {
    strict: true,
    decode: ({ kind, message, provider }) => new ProviderFailed({ provider, kind, reason: message }),
    encode: ({ kind, provider, reason }) => ({
      error: "Provider error",
      message: reason,
      code: "provider_failed" as const,
      provider,
      kind
    })
  }
).annotations(HttpApiSchema.annotations({ status: 500, description: "The model provider failed" }))
