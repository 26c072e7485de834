import { Duration, Effect, Either, Layer, Option } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import { AiSettings } from "../../ai/calls/AiSettings.ts"
import { makeCircuitBreakers } from "../../ai/calls/CircuitBreakers.ts"
import type { ProviderName } from "../../ai/models/Model.ts"
import { markOwnKeyFailure } from "../../ai/calls/CallFallback.ts"
import { computeSpeechCost, computeTranscriptionCost, hasMediaPrice } from "../../ai/models/MediaPrices.ts"
import { ProviderFailed } from "../../ai/models/ModelErrors.ts"
import { countCall, measureCall } from "../../ai/calls/ModelTelemetry.ts"
import { ModelUsage } from "../../ai/calls/ModelUsage.ts"
import { type ModelKeys, OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import type { CalledModel } from "../../ai/calls/CallPlan.ts"
import { retryCall } from "../../ai/calls/CallRetry.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import { PluginFailed, type PluginInputInvalid, toPluginFailed } from "../plugins/PluginRun.ts"
import { type Recording, Speech, type SpeechAnswer, type SpeechInput } from "./Speech.ts"
import { validateRecording, validateSpeechInput, makeAudioFilename } from "./SpeechLimits.ts"
import {
  resolveSpeechModel,
  type SpeechModel,
  formatSpeechModelId,
  selectSpeechRoute,
  speechVendors
} from "./SpeechModel.ts"
import { type SpeechProvider, SpeechProviders } from "./SpeechProviders.ts"

interface Called {
  readonly provider: SpeechProvider
  readonly model: SpeechModel
  readonly call: CalledModel
}

type Refused = PluginFailed | PluginInputInvalid

export const layer: Layer.Layer<Speech, never, GatewaySettings | SpeechProviders | OwnerKeys | ModelUsage> =
  Layer.effect(
    Speech,
    Effect.gen(function* () {
      const { all, withKey } = yield* SpeechProviders
      const ownerKeys = yield* OwnerKeys
      const usage = yield* ModelUsage
      const { breaker, retry } = yield* AiSettings
      const { speech: settings } = yield* GatewaySettings
      const breakers = makeCircuitBreakers(breaker)
      const configured = new Map(all.map((provider) => [provider.name, provider] as const))
      const configuredNames = new Set(configured.keys())

      const usualIds = new Set([formatSpeechModelId(settings.tts), formatSpeechModelId(settings.stt)])
      /** Bounds the labels of circuit breakers and metrics, since callers can name any model. */
      const labelOf = (model: SpeechModel) => ({
        id:
          usualIds.has(formatSpeechModelId(model)) || hasMediaPrice(formatSpeechModelId(model))
            ? formatSpeechModelId(model)
            : `${model.provider}/other`
      })

      const calledWith = (model: SpeechModel, keys: ModelKeys): Effect.Effect<Called | null> => {
        const id = labelOf(model)
        const vendor = speechVendors.find((name) => name === model.provider)
        const key = vendor === undefined ? undefined : keys[vendor]
        if (vendor !== undefined && key !== undefined) {
          return Effect.map(withKey(vendor, key), ({ keyId, provider }) => ({
            provider,
            model,
            call: { model: id, provider: model.provider, keyId }
          }))
        }
        const provider = configured.get(model.provider)
        return Effect.succeed(
          provider === undefined ? null : { provider, model, call: { model: id, provider: model.provider } }
        )
      }

      const choose = Effect.fnUntraced(function* (
        { model: requested, ownKeysOnly = false, userId }: Pick<SpeechInput, "model" | "ownKeysOnly" | "userId">,
        usualModel: SpeechModel
      ): Effect.fn.Return<Called, Refused> {
        const model = yield* resolveSpeechModel(requested, usualModel)
        const keys: ModelKeys = userId === null ? {} : yield* ownerKeys.find(userId)
        const own = new Set<ProviderName>(speechVendors.filter((name) => keys[name] !== undefined))
        const route = yield* selectSpeechRoute(model, {
          own,
          configured: configuredNames,
          isNamed: requested !== undefined,
          ownKeysOnly
        })
        const called = yield* calledWith(route.model, route.own ? keys : {})
        return called ?? (yield* new PluginFailed({ reason: `${formatSpeechModelId(model)} cannot be used here` }))
      })

      /** Runs one attempt. Rejected input counts as a success of the provider's circuit breaker. */
      const once = <A>(call: CalledModel, attempt: Effect.Effect<A, ProviderFailed | PluginInputInvalid>) =>
        // Interruptible in any region, so that the timeout can end it.
        Effect.interruptible(attempt).pipe(
          Effect.timeoutFail({
            duration: settings.attemptTimeout,
            onTimeout: () =>
              new ProviderFailed({
                provider: call.provider,
                kind: "timeout",
                reason: `no answer within ${Duration.format(settings.attemptTimeout)}`
              })
          }),
          Effect.map((answer): Either.Either<A, PluginInputInvalid> => Either.right(answer)),
          Effect.catchTag("PluginInputInvalid", (refusal) =>
            Effect.succeed<Either.Either<A, PluginInputInvalid>>(Either.left(refusal))
          )
        )

      const answered = Effect.fnUntraced(function* <A>(
        { call, model }: Called,
        attempt: Effect.Effect<A, ProviderFailed | PluginInputInvalid>
      ) {
        const clock = yield* Effect.clock
        const startedAt = clock.unsafeCurrentTimeMillis()
        const deadline = startedAt + Duration.toMillis(settings.retryTimeout)
        const tried = yield* Effect.uninterruptibleMask((restore) =>
          retryCall(restore(once(call, attempt)), { breakers, call, clock, deadline, policy: retry, restore })
        )
        if (Option.isNone(tried)) {
          return yield* new PluginFailed({
            reason: `model provider ${call.provider} failed repeatedly; try again later`,
            retryAfter: breaker.cooldown
          })
        }
        const { result } = tried.value
        if (Either.isLeft(result)) {
          const failure = call.keyId === undefined ? result.left : markOwnKeyFailure(result.left)
          measureCall(call, "generate_content", clock.unsafeCurrentTimeMillis() - startedAt, failure.kind)
          yield* Effect.logWarning("Speech model did not answer").pipe(
            Effect.annotateLogs({
              model: formatSpeechModelId(model),
              provider: call.provider,
              kind: failure.kind,
              reason: failure.reason,
              ownKey: call.keyId !== undefined
            })
          )
          return yield* toPluginFailed(failure)
        }
        const answer = yield* result.right
        countCall(call, "answered")
        measureCall(call, "generate_content", clock.unsafeCurrentTimeMillis() - startedAt)
        return answer
      })

      /** A failure to record must not fail the answer. */
      const record = ({ call, model }: Called, userId: UserId | null, costUsd: number) =>
        usage
          .record({
            userId,
            agentId: null,
            provider: model.provider,
            model: formatSpeechModelId(model),
            promptTokens: 0,
            completionTokens: 0,
            ownKey: call.keyId !== undefined,
            costUsd
          })
          .pipe(
            Effect.catchAllCause((cause) => Effect.logError("Model usage not recorded", cause)),
            Effect.uninterruptible
          )

      const describeAnswer = ({ call, model }: Called): SpeechAnswer => ({
        ownKey: call.keyId !== undefined,
        answeredBy: { model: formatSpeechModelId(model), provider: model.provider }
      })

      return Speech.of({
        synthesize: Effect.fn("Speech.synthesize")(function* (spoken: SpeechInput) {
          yield* validateSpeechInput(spoken)
          const called = yield* choose(spoken, settings.tts)
          const { model: _, ownKeysOnly: __, userId, ...utterance } = spoken
          const { audio, contentType } = yield* answered(
            called,
            called.provider.synthesize(called.model.name, utterance)
          )
          yield* record(called, userId, computeSpeechCost(formatSpeechModelId(called.model), spoken.text))
          return { audio, contentType, ...describeAnswer(called) }
        }),
        transcribe: Effect.fn("Speech.transcribe")(function* (recording: Recording) {
          const kind = yield* validateRecording(recording)
          const called = yield* choose(recording, settings.stt)
          const { model: _, ownKeysOnly: __, userId, ...upload } = recording
          const sound = { ...upload, contentType: kind.contentType, filename: makeAudioFilename(upload.filename, kind) }
          const transcript = yield* answered(called, called.provider.transcribe(called.model.name, sound))
          yield* record(called, userId, computeTranscriptionCost(formatSpeechModelId(called.model), transcript))
          return { text: transcript.text, ...describeAnswer(called) }
        })
      })
    })
  )
