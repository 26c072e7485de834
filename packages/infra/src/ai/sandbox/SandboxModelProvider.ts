import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { estimatePromptTokens } from "@berth/domain/ai/prompt/TokenEstimate"
import type { Model } from "@berth/domain/ai/models/Model"
import { Effect } from "effect"
import { makeSandboxReply } from "./SandboxReply.ts"
import { makeSandboxSummary } from "./SandboxSummary.ts"
import { decideSandboxToolStep } from "./SandboxToolSteps.ts"
import { countToolCalls, makeToolCallId } from "../vendor/VendorConversation.ts"
import { makeSingleChunkSource } from "../vendor/ChunkStage.ts"
import { toolCallsFinishReason } from "../vendor/PartialToolCall.ts"

export const sandboxModel: Model = {
  id: "sandbox/echo",
  name: "Berth sandbox model",
  provider: "sandbox",
  description:
    "Built in and free, for trying things without a key: echoes, remembers what you tell it and uses tools. Not an AI.",
  tags: ["general", "coding", "analysis", "creative", "fast"],
  inputCost: 0,
  outputCost: 0,
  contextWindow: 128_000,
  takesTools: true,
  available: true
}

/** Constant, so that token limits are exact. */
const charactersPerToken = 4

const splitIntoDeltas = (text: string): ReadonlyArray<string> => text.match(/\s*\S+\s*/g) ?? []

const cutAtStop = (text: string, stop: ReadonlyArray<string>): string =>
  stop
    .filter((sequence) => sequence !== "")
    .reduce((shortest, sequence) => shortest.split(sequence, 1)[0] ?? shortest, text)

const refuse = (reason: string) =>
  Effect.succeed(
    makeSingleChunkSource<never, ProviderFailed>(
      [],
      new ProviderFailed({ provider: "sandbox", kind: "refused", reason })
    )
  )

/** A deterministic model in this process. */
export const sandboxModelProvider: ModelProvider = {
  name: "sandbox",
  models: Effect.succeed([sandboxModel]),
  modelIds: Effect.succeed([sandboxModel.id]),
  healthy: Effect.succeed(true),
  chat: (modelId, messages, options) => {
    const { maxTokens, stop = [], tools = [] } = options
    if (modelId !== sandboxModel.id) {
      return refuse(`has no model ${modelId}`)
    }
    if (messages.some((message) => message.role === "user" && message.parts?.some(({ type }) => type === "image"))) {
      return refuse("sees no images")
    }
    const promptTokens = estimatePromptTokens(messages, tools)
    const ending = (text: string, finishReason: string): ModelEvent<ProviderEnding> => {
      const completionTokens = Math.ceil(text.length / charactersPerToken)
      return {
        type: "done",
        usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens },
        finishReason
      }
    }
    const summary = makeSandboxSummary(messages)
    const step = summary === null ? decideSandboxToolStep(messages, options) : null
    if (step?.type === "call") {
      const call = { id: makeToolCallId(countToolCalls(messages) + 1), name: step.tool, arguments: step.arguments }
      return Effect.succeed(
        makeSingleChunkSource<ModelEvent<ProviderEnding>>([
          { type: "tool-call", call },
          ending(call.name + call.arguments, toolCallsFinishReason)
        ])
      )
    }
    const whole = cutAtStop(summary ?? step?.text ?? makeSandboxReply(messages), stop)
    const text = maxTokens === undefined ? whole : whole.slice(0, maxTokens * charactersPerToken)
    const deltas = splitIntoDeltas(text).map((delta): ModelEvent<ProviderEnding> => ({ type: "delta", text: delta }))
    const done = ending(text, text.length < whole.length ? "length" : "stop")
    return Effect.succeed(makeSingleChunkSource([...deltas, done]))
  }
}
