import { Data, type Duration, Schema } from "effect"
import type { ProviderName, TaskType } from "./Model.ts"

/** No configured provider runs a suitable model. */
export class ModelsUnavailable extends Data.TaggedError("ModelsUnavailable")<{ readonly taskType: TaskType }> {
  override get message() {
    return `No model is available for ${this.taskType} tasks`
  }
}

export class ModelNotFound extends Data.TaggedError("ModelNotFound")<{ readonly model: string }> {
  override get message() {
    return `There is no model ${this.model}`
  }
}

export class ProviderNotFound extends Data.TaggedError("ProviderNotFound")<{ readonly provider: string }> {
  override get message() {
    return `There is no provider ${this.provider}`
  }
}

export class MessagesMissing extends Data.TaggedError("MessagesMissing")<object> {
  override get message() {
    return "messages must hold at least one message"
  }
}

/** The count is negative or above 2^53 - 1. */
export class TokenCountInvalid extends Data.TaggedError("TokenCountInvalid")<{
  readonly field: "inputTokens" | "outputTokens"
}> {
  override get message() {
    return `${this.field} must be a number from 0 to ${Number.MAX_SAFE_INTEGER}`
  }
}

/** No configured provider is reachable, or none is configured. */
export class AiServiceUnavailable extends Data.TaggedError("AiServiceUnavailable")<{
  readonly providers: { readonly [name in ProviderName]?: boolean }
}> {
  override get message() {
    const names = Object.keys(this.providers)
    return names.length === 0
      ? "AI service unavailable: no model provider is configured"
      : `AI service unavailable: ${names.join(", ")} cannot be reached`
  }
}

export const ProviderFailureKind = Schema.Literal(
  "unreachable",
  "timeout",
  "rate-limited",
  "unauthorized",
  "refused",
  "overloaded",
  "nonsense"
)
export type ProviderFailureKind = typeof ProviderFailureKind.Type

const sentences: Readonly<Record<ProviderFailureKind, string>> = {
  unreachable: "cannot be reached; try again later",
  timeout: "did not answer in time; try again later",
  "rate-limited": "limits its requests at the moment; try again later",
  unauthorized: "does not accept this service's account; try another model",
  refused: "rejected the request; shorten the conversation or change its options",
  overloaded: "is overloaded; try again later",
  nonsense: "gave an answer that cannot be read; try again or use another model"
}

/** `unauthorized` includes an account without credit. `ownKey`: the call used the owner's key. */
export class ProviderFailed extends Data.TaggedError("ProviderFailed")<{
  readonly provider: ProviderName
  readonly kind: ProviderFailureKind
  /** For logs only: it can contain the provider's message, but never a key. */
  readonly reason: string
  /** Wait requested by the provider. */
  readonly retryAfter?: Duration.Duration | undefined
  readonly ownKey?: boolean | undefined
}> {
  override get message() {
    return this.ownKey === true && this.kind === "unauthorized"
      ? `your ${this.provider} key was refused; replace it or add credit to its account`
      : `model provider ${this.provider} ${sentences[this.kind]}`
  }
}
