import {
  AiServiceUnavailable,
  MessagesMissing,
  ModelNotFound,
  ModelsUnavailable,
  ProviderFailed,
  ProviderNotFound,
  TokenCountInvalid
} from "@berth/domain/ai/models/ModelErrors"
import { ProviderName, TaskType } from "@berth/domain/ai/models/Model"
import { HttpApiMiddleware, HttpApiSchema, HttpApiSecurity } from "@effect/platform"
import { Data, Schema } from "effect"
import { errorClassSchema, errorBody, errorFields } from "../http/ErrorBody.ts"
import { InternalKeyRequiredBody } from "../http/InternalAuth.ts"

/** The `Host` header names none of the allowed hosts. */
export class HostNotAllowed extends Data.TaggedError("HostNotAllowed")<object> {}

export const HostNotAllowedBody = errorBody(HostNotAllowed, {
  status: 403,
  error: "Host not allowed",
  message: "The Host header must name a loopback address or the host of BACKEND_URL or BACKEND_HOST.",
  read: () => new HostNotAllowed()
})

/** Production: only callers with the internal key. Development: local callers by an allowed host. */
export class AiAccess extends HttpApiMiddleware.Tag<AiAccess>()("AiAccess", {
  failure: Schema.Union(InternalKeyRequiredBody, HostNotAllowedBody),
  security: { internal: HttpApiSecurity.bearer }
}) {}

export const AiServiceUnavailableBody = Schema.transform(
  Schema.Struct({
    ...errorFields("ai_service_unavailable"),
    status: Schema.Literal("error"),
    providers: Schema.Record({ key: Schema.String, value: Schema.Boolean })
  }).annotations({ identifier: "AiServiceUnavailable" }),
  errorClassSchema(AiServiceUnavailable),
  {
    strict: true,
    decode: ({ providers }) => new AiServiceUnavailable({ providers }),
    encode: (failure) => ({
      status: "error" as const,
      error: "AI service unavailable",
      message: failure.message,
      code: "ai_service_unavailable" as const,
      providers: failure.providers
    })
  }
).annotations(HttpApiSchema.annotations({ status: 503, description: "No provider can be reached" }))

export const ModelsUnavailableBody = Schema.transform(
  Schema.Struct({ ...errorFields("models_unavailable"), taskType: TaskType }).annotations({
    identifier: "ModelsUnavailable"
  }),
  errorClassSchema(ModelsUnavailable),
  {
    strict: true,
    decode: ({ taskType }) => new ModelsUnavailable({ taskType }),
    encode: (failure) => ({
      error: "No models available",
      message: failure.message,
      code: "models_unavailable" as const,
      taskType: failure.taskType
    })
  }
).annotations(HttpApiSchema.annotations({ status: 404, description: "No model is available" }))

export const ModelNotFoundBody = Schema.transform(
  Schema.Struct({ ...errorFields("model_not_found"), model: Schema.String }).annotations({
    identifier: "ModelNotFound"
  }),
  errorClassSchema(ModelNotFound),
  {
    strict: true,
    decode: ({ model }) => new ModelNotFound({ model }),
    encode: (failure) => ({
      error: "Model not found",
      message: failure.message,
      code: "model_not_found" as const,
      model: failure.model
    })
  }
).annotations(HttpApiSchema.annotations({ status: 404, description: "There is no such model" }))

export const ProviderNotFoundBody = Schema.transform(
  Schema.Struct({ ...errorFields("provider_not_found"), provider: Schema.String }).annotations({
    identifier: "ProviderNotFound"
  }),
  errorClassSchema(ProviderNotFound),
  {
    strict: true,
    decode: ({ provider }) => new ProviderNotFound({ provider }),
    encode: (failure) => ({
      error: "Provider not found",
      message: failure.message,
      code: "provider_not_found" as const,
      provider: failure.provider
    })
  }
).annotations(HttpApiSchema.annotations({ status: 404, description: "There is no such provider" }))

export const MessagesMissingBody = errorBody(MessagesMissing, {
  status: 400,
  error: "Messages missing",
  message: (failure) => failure.message,
  read: () => new MessagesMissing()
})

export const TokenCountInvalidBody = Schema.transform(
  Schema.Struct({
    ...errorFields("token_count_invalid"),
    field: Schema.Literal("inputTokens", "outputTokens")
  }).annotations({ identifier: "TokenCountInvalid" }),
  errorClassSchema(TokenCountInvalid),
  {
    strict: true,
    decode: ({ field }) => new TokenCountInvalid({ field }),
    encode: (failure) => ({
      error: "Invalid token count",
      message: failure.message,
      code: "token_count_invalid" as const,
      field: failure.field
    })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "A token count is negative" }))

/** No suitable model answered. */
export const ProviderFailedBody = Schema.transform(
  Schema.Struct({
    ...errorFields("provider_failed"),
    provider: ProviderName,
    kind: Schema.Literal("unreachable", "timeout", "rate-limited", "unauthorized", "refused", "overloaded", "nonsense")
  }).annotations({ identifier: "ProviderFailed" }),
  errorClassSchema(ProviderFailed),
  {
    strict: true,
    decode: ({ kind, message, provider }) => new ProviderFailed({ provider, kind, reason: message }),
    encode: ({ kind, message, provider }) => ({
      error: "Provider error",
      message,
      code: "provider_failed" as const,
      provider,
      kind
    })
  }
).annotations(HttpApiSchema.annotations({ status: 500, description: "The model provider failed" }))
