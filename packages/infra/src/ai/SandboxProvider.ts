import { estimatePromptTokens, estimateTokens } from "@berth/domain/ai/EstimateTokens"
import type { Model } from "@berth/domain/ai/Model"
import { type ChatChunk, type ModelProvider, ProviderFailed } from "@berth/domain/ai/ModelChat"
import { Duration, Effect, Stream } from "effect"
import { sandboxReply } from "./SandboxReply.ts"

export const sandboxModel: Model = {
  id: "sandbox/echo",
  name: "Berth sandbox model",
  provider: "sandbox",
  description: "Built in and free, for trying things without a key: echoes, and remembers what you tell it. Not an AI.",
  tags: ["general", "coding", "analysis", "creative", "fast"],
  inputCost: 0,
  outputCost: 0,
  contextWindow: 128_000,
  available: true
}

/** A word and the space after it. */
const piecesOf = (text: string): ReadonlyArray<string> => text.match(/\s*\S+\s*/g) ?? []

export interface SandboxOptions {
  /** Between two pieces, so that one can watch an answer come. None by default. */
  readonly pause?: Duration.DurationInput | undefined
}

/** A deterministic model in this process, in place of a provider. */
export const makeSandboxProvider = (options: SandboxOptions = {}): ModelProvider => {
  const pause = Duration.decode(options.pause ?? 0)
  const waiting = Duration.greaterThan(pause, Duration.zero) ? Effect.sleep(pause) : Effect.void
  return {
    name: "sandbox",
    models: Effect.succeed([sandboxModel]),
    healthy: Effect.succeed(true),
    chat: (modelId, messages, { maxTokens }) => {
      if (modelId !== sandboxModel.id) {
        return Stream.fail(
          new ProviderFailed({ provider: "sandbox", kind: "refused", reason: `has no model ${modelId}` })
        )
      }
      const whole = sandboxReply(messages)
      const text = maxTokens === undefined ? whole : whole.slice(0, maxTokens * 4)
      const promptTokens = estimatePromptTokens(messages)
      const completionTokens = estimateTokens(text)
      return Stream.fromIterable(piecesOf(text)).pipe(
        Stream.rechunk(1),
        Stream.tap(() => waiting),
        Stream.map((piece): ChatChunk => ({ type: "text", text: piece })),
        Stream.concat(
          Stream.make<[ChatChunk]>({
            type: "end",
            usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens },
            finishReason: text.length < whole.length ? "length" : "stop"
          })
        )
      )
    }
  }
}
