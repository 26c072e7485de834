import { Effect, Encoding, Option, Stream } from "effect"
import type { ModelEvent } from "../ai/streams/ModelEvent.ts"
import type { User } from "../shared/User.ts"
import type { ChatOpening } from "../ai/calls/ChatRequest.ts"
import { AgentTasks } from "./tasks/AgentTasks.ts"
import { ModelAnswers } from "./plugins/ModelAnswers.ts"
import type { PluginInput } from "./PluginInput.ts"
import { limitToPrice } from "./calls/PluginPrices.ts"
import { type PluginEvent, PluginFailed, type PluginRun } from "./plugins/PluginRun.ts"
import { Speech } from "./speech/Speech.ts"

export interface RunOptions {
  /** Done as soon as it is known which model answers, where one does. */
  readonly opened?: (opening: ChatOpening) => Effect.Effect<void>
  /** Whether models of the caller's own keys alone may answer. */
  readonly ownKeysOnly?: boolean
}

/** The text of a model's answer as the events of a plugin. */
const textEvents = <E>(answer: Stream.Stream<ModelEvent, E>): Stream.Stream<PluginEvent, E> =>
  Stream.suspend(() => {
    const texts: Array<string> = []
    return Stream.filterMap(answer, (event) => {
      switch (event.type) {
        case "delta":
          texts.push(event.text)
          return Option.some<PluginEvent>(event)
        // Nobody offers it tools.
        case "tool-call":
          return Option.none()
        case "done":
          return Option.some<PluginEvent>({
            type: "done",
            message: texts.join(""),
            tokens: event.usage.totalTokens,
            ownKey: event.ownKey
          })
      }
    })
  })

/** Whatever the gateway can be asked to do, done. */
export class Plugins extends Effect.Service<Plugins>()("@berth/Plugins", {
  effect: Effect.gen(function* () {
    const answers = yield* ModelAnswers
    const agents = yield* AgentTasks
    const speech = yield* Speech

    const runOf = (input: PluginInput, caller: Option.Option<User>, options: RunOptions): PluginRun => {
      const userId = Option.getOrNull(Option.map(caller, ({ id }) => id))
      switch (input.plugin) {
        case "generate-text":
          return textEvents(
            answers.answer(
              {
                ...limitToPrice(input.request),
                unknownModel: "refuse",
                caller: { userId, agentId: null },
                ...(options.ownKeysOnly === true ? { ownKeysOnly: true } : {})
              },
              options.opened
            )
          )
        case "agent":
          return agents.run({ caller, messages: input.messages, agentId: input.agentId })
        case "tts":
          return Stream.fromEffect(
            Effect.map(
              speech.synthesize({ ...input.spoken, userId }),
              ({ audio, contentType, ownKey }): PluginEvent => ({
                type: "done",
                message: Encoding.encodeBase64(audio),
                tokens: null,
                ownKey,
                audioType: contentType
              })
            )
          )
        case "stt":
          return Stream.fromEffect(
            Effect.map(speech.transcribe({ ...input.recording, userId }), ({ ownKey, text }): PluginEvent => ({
              type: "done",
              message: text,
              tokens: null,
              ownKey
            }))
          )
      }
    }

    /** What a plugin says to what it is asked. A defect behind it fails it as well: the call is to end in order. */
    const run = (input: PluginInput, caller: Option.Option<User>, options: RunOptions = {}): PluginRun =>
      runOf(input, caller, options).pipe(
        Stream.catchSomeCause((cause) =>
          cause._tag === "Die"
            ? Option.some(
                Stream.fromEffect(
                  Effect.zipRight(
                    Effect.logError("A plugin broke", cause),
                    new PluginFailed({ reason: "something went wrong on our side" })
                  )
                )
              )
            : Option.none()
        ),
        Stream.withSpan(`Plugins.run ${input.plugin}`)
      )

    return { run }
  })
}) {}
