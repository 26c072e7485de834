import {
  AiServiceUnavailable,
  MessagesMissing,
  ModelNotFound,
  ModelsUnavailable,
  ProviderFailed,
  ProviderFailureKind,
  ProviderNotFound,
  TokenCountInvalid
} from "@berth/domain/ai/models/ModelErrors"
import { ProviderName, TaskType } from "@berth/domain/ai/models/Model"
import { HttpApiMiddleware, HttpApiSecurity } from "@effect/platform"
import { Data, Schema } from "effect"
import { plainErrorBody, extendedErrorBody, fieldsErrorBody } from "../http/ErrorBody.ts"
import { InternalKeyRequiredBody } from "../http/InternalAuth.ts"

export class HostNotAllowed extends Data.TaggedError("HostNotAllowed")<object> {}

const HostNotAllowedBody = plainErrorBody(HostNotAllowed, {
  status: 403,
  error: "Host not allowed",
  message: "The Host header must name a loopback address or the host of BACKEND_URL or BACKEND_HOST."
})

/** Production: only callers with the internal key. Development: local callers with an allowed host. */
export class AiAccess extends HttpApiMiddleware.Tag<AiAccess>()("AiAccess", {
  failure: Schema.Union(InternalKeyRequiredBody, HostNotAllowedBody),
  security: { internal: HttpApiSecurity.bearer }
}) {}

export const AiServiceUnavailableBody = extendedErrorBody(
  AiServiceUnavailable,
  Schema.Struct({
    status: Schema.Literal("error"),
    providers: Schema.Record({ key: Schema.String, value: Schema.Boolean })
  }),
  {
    status: 503,
    error: "AI service unavailable",
    message: (failure) => failure.message,
    members: ({ providers }) => ({ status: "error" as const, providers }),
    example: new AiServiceUnavailable({ providers: { openai: false } }),
    read: (_, { providers }) => new AiServiceUnavailable({ providers })
  }
)

export const ModelsUnavailableBody = fieldsErrorBody(ModelsUnavailable, {
  status: 404,
  error: "No models available",
  message: (failure) => failure.message,
  members: Schema.Struct({ taskType: TaskType }),
  example: { taskType: "vision" }
})

export const ModelNotFoundBody = fieldsErrorBody(ModelNotFound, {
  status: 404,
  error: "Model not found",
  message: (failure) => failure.message,
  members: Schema.Struct({ model: Schema.String }),
  example: { model: "openai/gpt-0" }
})

export const ProviderNotFoundBody = fieldsErrorBody(ProviderNotFound, {
  status: 404,
  error: "Provider not found",
  message: (failure) => failure.message,
  members: Schema.Struct({ provider: Schema.String }),
  example: { provider: "acme" }
})

export const MessagesMissingBody = plainErrorBody(MessagesMissing, {
  status: 400,
  error: "Messages missing",
  message: new MessagesMissing().message
})

export const TokenCountInvalidBody = fieldsErrorBody(TokenCountInvalid, {
  status: 400,
  error: "Invalid token count",
  message: (failure) => failure.message,
  members: Schema.Struct({ field: Schema.Literal("inputTokens", "outputTokens") }),
  example: { field: "inputTokens" }
})

/** No suitable model answered. */
export const ProviderFailedBody = extendedErrorBody(
  ProviderFailed,
  Schema.Struct({ provider: ProviderName, kind: ProviderFailureKind }),
  {
    status: 500,
    error: "Provider error",
    message: (failure) => failure.message,
    members: ({ kind, provider }) => ({ provider, kind }),
    example: new ProviderFailed({ provider: "openai", kind: "overloaded", reason: "status 503" }),
    read: (message, { kind, provider }) => new ProviderFailed({ provider, kind, reason: message })
  }
)
