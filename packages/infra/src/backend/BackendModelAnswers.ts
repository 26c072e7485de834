import { ModelAnswerEvent, ModelAnswerRequest, modelAnswersPath } from "@berth/api/gateway/plugins/ModelAnswersApi"
import { sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { readRuntimeEvents } from "@berth/api/runtime/RuntimeStream"
import { readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import {
  type Embedded,
  type EmbeddingRequest,
  type OpenedModelAnswer,
  ModelAnswers,
  type ModelQuote
} from "@berth/domain/gateway/plugins/ModelAnswers"
import { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { HttpClientRequest, HttpClientResponse } from "@effect/platform"
import { Chunk, Duration, Effect, Layer, Option, type Scope, Sink, Stream } from "effect"
import { type BackendClientOptions, makeBackendClient } from "./BackendClient.ts"

/** Timeout of the response head, which the backend sends before it calls a model. */
const headTimeout = Duration.seconds(10)
/** Longer than the backend's timeout for its provider. */
const embeddingTimeout = Duration.seconds(70)
/** Three missed keep-alives. */
const idleTimeout = Duration.seconds(3 * sseKeepAliveSeconds)

const unreachable = new PluginFailed({ reason: "the AI layer cannot be reached", kind: "unreachable" })
const interrupted = new PluginFailed({ reason: "the AI layer broke off" })
const brokenOff: ModelAnswerEvent = {
  type: "failed",
  reason: interrupted.reason,
  retryAfter: null,
  isUnavailable: false
}

/** Logs the cause, since callers must not see internal addresses. */
const logLost = ({ _tag }: { readonly _tag: string }) =>
  Effect.annotateLogs(Effect.logWarning("Answer of the backend lost"), "reason", _tag)
const logAndFail = (cause: { readonly _tag: string }, failure: PluginFailed) => Effect.zipRight(logLost(cause), failure)

type AnswerFailure = PluginFailed | PluginInputInvalid

const toFailure = (event: Extract<ModelAnswerEvent, { readonly type: "failed" | "invalid" }>): AnswerFailure =>
  event.type === "invalid"
    ? new PluginInputInvalid({ field: event.field, reason: event.reason })
    : new PluginFailed({
        reason: event.reason,
        kind: event.kind,
        isUnavailable: event.isUnavailable,
        retryAfter: event.retryAfter === null ? undefined : Duration.millis(event.retryAfter)
      })

const isModelEvent = (event: ModelAnswerEvent): event is ModelEvent =>
  event.type === "delta" || event.type === "tool-call" || event.type === "done"

/** Forwards whole chunks of model events; any other event ends the answer. */
const toModelEvents = (events: Chunk.Chunk<ModelAnswerEvent>): Stream.Stream<ModelEvent, AnswerFailure> => {
  const [passed, [ending]] = Chunk.splitWhere(events, (event) => !isModelEvent(event))
  const values = Stream.fromChunk(Chunk.filter(passed, isModelEvent))
  if (ending === undefined || isModelEvent(ending)) return values
  return Stream.concat(
    values,
    Stream.fromEffect(
      ending.type === "opened" ? logAndFail({ _tag: "SecondOpening" }, interrupted) : Effect.fail(toFailure(ending))
    )
  )
}

/** The AI layer of the backend process. */
export const layer = (options: BackendClientOptions) =>
  Layer.effect(
    ModelAnswers,
    Effect.map(makeBackendClient(options), ({ api, http }) => {
      const read = <A, E extends { readonly _tag: string }>(answer: Effect.Effect<A, E>, timeout = headTimeout) =>
        answer.pipe(
          Effect.timeout(timeout),
          Effect.catchAll((error) => logAndFail(error, unreachable))
        )

      const quote = (request: ModelAnswerRequest): Effect.Effect<ModelQuote, AnswerFailure> =>
        Effect.flatMap(read(api.modelAnswers.quote({ payload: request })), (result) =>
          result.type === "quoted" ? Effect.succeed(result) : Effect.fail(toFailure(result))
        )

      const embed = (request: EmbeddingRequest): Effect.Effect<Embedded, AnswerFailure> =>
        Effect.flatMap(read(api.modelAnswers.embed({ payload: request }), embeddingTimeout), (result) =>
          result.type === "embedded" ? Effect.succeed(result) : Effect.fail(toFailure(result))
        )

      const readEvents = (request: ModelAnswerRequest) =>
        HttpClientRequest.post(modelAnswersPath).pipe(
          HttpClientRequest.schemaBodyJson(ModelAnswerRequest)(request),
          Effect.orDie,
          Effect.flatMap(http.execute),
          Effect.flatMap(HttpClientResponse.filterStatusOk),
          read,
          Effect.map((response) =>
            response.stream.pipe(
              readRuntimeEvents(ModelAnswerEvent, {
                idle: idleTimeout,
                total: Duration.infinity,
                onTimeout: () => ({ _tag: "Silent" }) as const
              }),
              // An event, since `Stream.peel` turns failures of the rest into defects.
              Stream.catchAll((error) => Stream.fromEffect(Effect.as(logLost(error), brokenOff)))
            )
          ),
          Stream.unwrap
        )

      const open = Effect.fnUntraced(function* (
        request: ModelAnswerRequest
      ): Effect.fn.Return<OpenedModelAnswer, AnswerFailure, Scope.Scope> {
        const [first, rest] = yield* Stream.peel(readEvents(request), Sink.head<ModelAnswerEvent>())
        if (Option.isNone(first)) return yield* logAndFail({ _tag: "EmptyAnswer" }, interrupted)
        const event = first.value
        if (event.type === "failed" || event.type === "invalid") return yield* toFailure(event)
        if (event.type !== "opened") return yield* logAndFail({ _tag: "MissingOpening" }, interrupted)
        const { type: _, ...opening } = event
        return { opening, events: yield* readerFromStream(Stream.flatMap(Stream.chunks(rest), toModelEvents)) }
      })

      return ModelAnswers.of({
        embed,
        models: Effect.map(read(api.modelAnswers.models()), ({ models }) => models),
        open,
        providers: Effect.map(read(api.modelAnswers.providers()), ({ providers }) => providers),
        quote
      })
    })
  )
