import { Data } from "effect"
import type { ProviderName, TaskType } from "./Model.ts"

/** No configured provider can run any model that would do. */
export class NoModelsAvailable extends Data.TaggedError("NoModelsAvailable")<{ readonly taskType: TaskType }> {
  override get message() {
    return `No model is available for ${this.taskType} tasks`
  }
}

export class ModelIsUnknown extends Data.TaggedError("ModelIsUnknown")<{ readonly model: string }> {
  override get message() {
    return `There is no model ${this.model}`
  }
}

export class ProviderIsUnknown extends Data.TaggedError("ProviderIsUnknown")<{ readonly provider: string }> {
  override get message() {
    return `There is no provider ${this.provider}`
  }
}

export class MessagesAreMissing extends Data.TaggedError("MessagesAreMissing")<object> {
  override get message() {
    return "messages must hold at least one message"
  }
}

/** A count of tokens is negative or not a finite number. */
export class TokenCountIsInvalid extends Data.TaggedError("TokenCountIsInvalid")<{
  readonly field: "inputTokens" | "outputTokens"
}> {
  override get message() {
    return `${this.field} must be a number of at least 0`
  }
}

/** No configured provider can be reached, or none is configured. */
export class AiIsUnavailable extends Data.TaggedError("AiIsUnavailable")<{
  readonly providers: { readonly [name in ProviderName]?: boolean }
}> {
  override get message() {
    const names = Object.keys(this.providers)
    return names.length === 0
      ? "AI service unavailable: no model provider is configured"
      : `AI service unavailable: ${names.join(", ")} cannot be reached`
  }
}
