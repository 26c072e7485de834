import { type Cause, Effect, Encoding, Option, Ref, type Scope } from "effect"
import type { ChatOpening } from "../ai/calls/ChatRequest.ts"
import type { ToolCall } from "../ai/chat/ModelChat.ts"
import { type ChunkReader, mapReader, readerFromValues } from "../ai/streams/ChunkReader.ts"
import type { ModelDelta, ModelEvent } from "../ai/streams/ModelEvent.ts"
import { withExportedSpan } from "../shared/SpanExport.ts"
import type { User } from "../shared/User.ts"
import { toChatRequest } from "./calls/CallQuotes.ts"
import type { PluginInput } from "./PluginInput.ts"
import { ModelAnswers } from "./plugins/ModelAnswers.ts"
import {
  type OpenedRun,
  openPluginRun,
  type PluginError,
  PluginFailed,
  type PluginResult
} from "./plugins/PluginRun.ts"
import { Speech } from "./speech/Speech.ts"
import { AgentTasks, type TaskFunding } from "./tasks/AgentTasks.ts"

/** Payment of a run without own keys. */
interface PluginRunOptions extends Partial<TaskFunding> {
  /** Upper bound of the cost of fallback models, in US dollars. */
  readonly fallbackCostLimitUsd?: number
}

/** Returns the deltas of a model, then the result with its tool calls. */
const toPluginResult = <E>(
  { model, ownKey, provider }: ChatOpening,
  events: ChunkReader<ModelEvent, E>
): ChunkReader<ModelDelta | PluginResult, E> => {
  const texts: Array<string> = []
  const toolCalls: Array<ToolCall> = []
  const pass = (event: ModelEvent): ReadonlyArray<ModelDelta | PluginResult> => {
    switch (event.type) {
      case "delta":
        texts.push(event.text)
        return [event]
      case "tool-call":
        toolCalls.push(event.call)
        return []
      case "done": {
        const { costUsd, finishReason, type, usage, usageIsEstimated } = event
        return [
          {
            type,
            message: texts.join(""),
            tokens: usage.totalTokens,
            costUsd,
            ownKey,
            answeredBy: { model, provider },
            completion: { costUsd, finishReason, usage, usageIsEstimated, toolCalls }
          }
        ]
      }
    }
  }
  return mapReader(events, (all) => all.flatMap(pass))
}

const wholeRun = (result: Omit<PluginResult, "type">): OpenedRun<never> => ({
  opening: Option.none(),
  events: readerFromValues([{ type: "done", ...result }])
})

const catchDefect = (cause: Cause.Cause<unknown>): Option.Option<Effect.Effect<never, PluginFailed>> =>
  cause._tag === "Die"
    ? Option.some(
        Effect.zipRight(
          Effect.logError("Plugin failed with a defect", cause),
          new PluginFailed({ reason: "something went wrong on our side" })
        )
      )
    : Option.none()

export class Plugins extends Effect.Service<Plugins>()("@berth/Plugins", {
  effect: Effect.gen(function* () {
    const answers = yield* ModelAnswers
    const agents = yield* AgentTasks
    const speech = yield* Speech

    const openRun = (
      input: PluginInput,
      caller: Option.Option<User>,
      options: PluginRunOptions
    ): Effect.Effect<OpenedRun<PluginError>, PluginError, Scope.Scope> => {
      const ownKeysOnly = options.ownKeysOnly === true
      const userId = Option.getOrNull(Option.map(caller, ({ id }) => id))
      switch (input.plugin) {
        case "generate-text": {
          const { fallbackCostLimitUsd } = options
          const request = Object.assign(toChatRequest(input.request, caller), { ownKeysOnly, fallbackCostLimitUsd })
          return Effect.map(answers.open(request), ({ events, opening }) => ({
            opening: Option.some(opening),
            events: toPluginResult(opening, events)
          }))
        }
        case "agent":
          return Effect.gen(function* () {
            const { messages, agentId } = input
            const { reservation = Option.none(), spentUsd = yield* Ref.make(0), unitLimit } = options
            const funding = { reservation, spentUsd, unitLimit, ownKeysOnly }
            const events = yield* openPluginRun(agents.run({ caller, messages, agentId, funding }))
            return { opening: Option.none(), events }
          })
        case "tts":
          return Effect.map(
            speech.synthesize({ ...input.spoken, userId, ownKeysOnly }),
            ({ answeredBy, audio, contentType, ownKey }) =>
              wholeRun({
                message: Encoding.encodeBase64(audio),
                tokens: null,
                costUsd: null,
                ownKey,
                answeredBy,
                audioType: contentType
              })
          )
        case "stt":
          return Effect.map(
            speech.transcribe({ ...input.recording, userId, ownKeysOnly }),
            ({ answeredBy, ownKey, text }) =>
              wholeRun({ message: text, tokens: null, costUsd: null, ownKey, answeredBy })
          )
      }
    }

    /** Runs a plugin up to its first event. Closing the scope ends the run. Defects become `PluginFailed`. */
    const open = (input: PluginInput, caller: Option.Option<User>, options: PluginRunOptions = {}) =>
      Effect.suspend(() => openRun(input, caller, options)).pipe(
        Effect.catchSomeCause(catchDefect),
        Effect.map(({ events, opening }): OpenedRun<PluginError> => ({
          opening,
          events: Effect.catchSomeCause(events, catchDefect)
        })),
        withExportedSpan(`Plugins.open ${input.plugin}`)
      )

    return { open }
  })
}) {}
