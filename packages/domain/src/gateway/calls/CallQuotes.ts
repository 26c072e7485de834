import { Effect, Either, Option } from "effect"
import type { ChatRequest } from "../../ai/calls/ChatRequest.ts"
import { hasImage } from "../../ai/chat/ContentPart.ts"
import { OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import { computeMediaCost } from "../../ai/models/MediaPrices.ts"
import { estimateRequestTokens } from "../../ai/prompt/TokenEstimate.ts"
import { ImagesNotSupported } from "../../interaction/attachments/Attachment.ts"
import type { Units } from "../../shared/Money.ts"
import type { User } from "../../shared/User.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import type { PluginInput } from "../PluginInput.ts"
import { ModelAnswers } from "../plugins/ModelAnswers.ts"
import { type PluginFailed, PluginInputInvalid } from "../plugins/PluginRun.ts"
import { readAudioDuration } from "../speech/AudioDuration.ts"
import { maximumAudioMinutes } from "../speech/SpeechLimits.ts"
import { formatSpeechModelId, resolveSpeechModel, type SpeechModel, speechVendors } from "../speech/SpeechModel.ts"
import { AgentTasks } from "../tasks/AgentTasks.ts"
import { type CallUsage, computePrice, estimateExpectedTokens } from "./PluginPrices.ts"

/** The price of a call before it runs. */
export interface CallQuote {
  /** Upper bound of the price. */
  readonly units: Units
  /** Whether the caller's own keys answer the call, without units. */
  readonly ownKey: boolean
  /** Estimates the usage of a call whose caller disconnects after this output. */
  readonly estimateUsage: (outputTokens: number) => CallUsage
}

/** Builds the request of generate-text on behalf of a caller. */
export const toChatRequest = (
  request: Extract<PluginInput, { plugin: "generate-text" }>["request"],
  caller: Option.Option<User>
): ChatRequest =>
  Object.assign({}, request, {
    unknownModel: "refuse" as const,
    caller: { userId: Option.getOrNull(Option.map(caller, ({ id }) => id)), agentId: null }
  })

const hasImages = ({ messages }: Pick<ChatRequest, "messages">) =>
  messages.some((message) => message.role === "user" && message.parts !== undefined && hasImage(message.parts))

const quoteSpeech = (
  model: SpeechModel,
  kind: "tts" | "stt",
  quantity: number
): Either.Either<number, PluginInputInvalid> =>
  model.provider === "sandbox"
    ? Either.right(0)
    : Either.fromOption(
        computeMediaCost(formatSpeechModelId(model), kind, quantity),
        () =>
          new PluginInputInvalid({
            field: "model",
            reason: `must be a listed model; ${formatSpeechModelId(model)} has no price`
          })
      )

const countStartedMinutes = (audio: Uint8Array): Either.Either<number, PluginInputInvalid> => {
  const invalid = (reason: string) => Either.left(new PluginInputInvalid({ field: "audio", reason }))
  const seconds = readAudioDuration(audio)
  if (Option.isNone(seconds)) return invalid("must have a duration in its container")
  const minutes = Math.max(1, Math.ceil(seconds.value / 60))
  return minutes > maximumAudioMinutes
    ? invalid(`must last at most ${maximumAudioMinutes} minutes`)
    : Either.right(minutes)
}

/** Returns the provider's price of a transcription in US dollars, by started minutes. */
export const quoteTranscription = (model: SpeechModel, audio: Uint8Array): Either.Either<number, PluginInputInvalid> =>
  Either.flatMap(countStartedMinutes(audio), (minutes) => quoteSpeech(model, "stt", minutes))

/** Prices calls before they run, by flat prices and model costs. */
export class CallQuotes extends Effect.Service<CallQuotes>()("@berth/CallQuotes", {
  effect: Effect.gen(function* () {
    const settings = yield* GatewaySettings
    const answers = yield* ModelAnswers

    const ownerKeys = yield* OwnerKeys
    const tasks = yield* AgentTasks

    const fixed = (input: PluginInput, costUsd: number | null, ownKey = false): CallQuote => {
      const usage = { tokens: null, costUsd }
      return { units: computePrice(settings, input.plugin, usage), ownKey, estimateUsage: () => usage }
    }

    /** Speech at a provider always uses the caller's own key for it, if any. */
    const hasOwnKey = ({ provider }: SpeechModel, caller: Option.Option<User>) => {
      const vendor = speechVendors.find((name) => name === provider)
      return vendor === undefined || Option.isNone(caller)
        ? Effect.succeed(false)
        : Effect.map(ownerKeys.find(caller.value.id), (keys) => keys[vendor] !== undefined)
    }

    const quoteText = (input: Extract<PluginInput, { plugin: "generate-text" }>, caller: Option.Option<User>) =>
      Effect.flatMap(answers.quote(toChatRequest(input.request, caller)), (quoted) => {
        const { answeredBy, costUsd, inputCost, outputCost, ownKey, seesImages } = quoted
        if (!seesImages && hasImages(input.request)) return new ImagesNotSupported({ model: answeredBy.model })
        const promptTokens = estimateRequestTokens(input.request)
        const usage = { tokens: estimateExpectedTokens(input.request), costUsd }
        return Effect.succeed<CallQuote>({
          units: computePrice(settings, input.plugin, usage),
          ownKey,
          estimateUsage: (outputTokens) => ({
            tokens: promptTokens + outputTokens,
            costUsd: (promptTokens * inputCost + outputTokens * outputCost) / 1_000_000
          })
        })
      })

    const quoteOther = Effect.fnUntraced(function* (
      input: Exclude<PluginInput, { plugin: "generate-text" }>,
      caller: Option.Option<User>
    ): Effect.fn.Return<CallQuote, PluginInputInvalid> {
      switch (input.plugin) {
        case "agent":
          return fixed(input, null, yield* tasks.usesOwnKeys({ caller, agentId: input.agentId }))
        case "tts": {
          const model = yield* resolveSpeechModel(input.spoken.model, settings.speech.tts)
          const costUsd = yield* quoteSpeech(model, "tts", [...input.spoken.text].length)
          return fixed(input, costUsd, yield* hasOwnKey(model, caller))
        }
        case "stt": {
          const model = yield* resolveSpeechModel(input.recording.model, settings.speech.stt)
          const costUsd = yield* quoteTranscription(model, input.recording.audio)
          return fixed(input, costUsd, yield* hasOwnKey(model, caller))
        }
      }
    })

    const quote = (
      input: PluginInput,
      caller: Option.Option<User>
    ): Effect.Effect<CallQuote, PluginFailed | PluginInputInvalid | ImagesNotSupported> =>
      withExportedSpan("CallQuotes.quote")(
        input.plugin === "generate-text" ? quoteText(input, caller) : quoteOther(input, caller)
      )

    return { quote }
  })
}) {}
