import { Context, Duration, Effect, Option, Scope } from "effect"
import { acquireScoped } from "../../shared/AcquireScoped.ts"
import { provideDirectly } from "../../shared/HotPath.ts"
import { AiLayer } from "../../ai/AiLayer.ts"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import type { ChatError, OpenChat } from "../../ai/calls/ModelChatCalls.ts"
import { estimateTokens } from "../../ai/prompt/TokenEstimate.ts"
import type { ChunkReader } from "../../ai/streams/ChunkReader.ts"
import type { ModelEvent } from "../../ai/streams/ModelEvent.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { RateLimiter, type RateLimitExceeded } from "../../limits/RateLimiter.ts"
import { retryOverOutage } from "../../persistence/OutageRetry.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import * as OwnerLocks from "../../shared/OwnerLocks.ts"
import { convertMicrosToUsd, noUsdMicros, toUsdMicros, Units, UsdMicros } from "../../shared/Money.ts"
import { dropReferencedImages, listReferencedImages, makeImageLoading } from "../attachments/Attachments.ts"
import { TurnBudgetExhausted, TurnNotInProgress } from "./TurnErrors.ts"
import {
  boundCall,
  boundWholeCall,
  computeCallUnits,
  findCostLimit,
  messageUnits,
  TurnSettings
} from "./TurnPricing.ts"
import { type AgentTurn, type CallCost, type TurnRecord, TurnRepository } from "./TurnRepository.ts"
import { withExportedSpan } from "../../shared/SpanExport.ts"

type TurnChatRequest = Omit<ChatRequest, "caller" | "ownKeysOnly">

/** Interval at which a call in progress checks that its turn is in progress. */
const turnCheckIntervalMs = Duration.toMillis("5 seconds")

type Quote = Effect.Effect.Success<ReturnType<AiLayer["quote"]>>

interface AdmittedCall {
  readonly cost: CallCost
  /** US dollars per million tokens. */
  readonly outputCost: number
  /** Absent for a call without a price. */
  readonly maxTokens?: number
}

/** Events of a call opened at the first read; only their end can name the model. */
export type TurnModelEvent = ModelEvent<Pick<ChatOpening, "model" | "provider">>

const isFree = ({ inputCost, outputCost }: Quote) => inputCost === 0 && outputCost === 0

const freeCall = { promptMicros: noUsdMicros, answerMicros: noUsdMicros }

/** Model calls of turns in progress, within the turn's budget and the owner's balance; counted before they are sent. */
export class TurnModelCalls extends Effect.Service<TurnModelCalls>()("@berth/TurnModelCalls", {
  effect: Effect.gen(function* () {
    const ai = yield* AiLayer
    const turns = yield* TurnRepository
    const ledger = yield* UnitLedger
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction
    const settings = yield* TurnSettings
    const loadImages = yield* makeImageLoading
    const messageCostLimit = findCostLimit(settings, messageUnits)
    const withOwnerLock = yield* OwnerLocks.make

    const begin = (turn: AgentTurn, cost: CallCost, { outputCost }: Quote) =>
      Effect.flatMap(turns.beginCall(turn, cost), (begun) =>
        begun ? Effect.succeed<AdmittedCall>({ cost, outputCost }) : new TurnNotInProgress()
      )

    /**
     * Extends the reservation to the call's upper bound as far as the balance allows, and limits the call to it. Calls
     * of a user in sequence: concurrent ones would each hold a connection to wait for units.
     */
    const beginPaid = (turn: AgentTurn, quote: Quote) =>
      Effect.gen(function* () {
        const record = yield* Effect.mapError(yield* turns.lock(turn), () => new TurnNotInProgress())
        const wanted = computeCallUnits(settings, record, quote)
        const limit = Units(Math.min(wanted, record.unitLimit ?? wanted))
        const reserved = yield* Option.match(record.reservation, {
          onNone: () => Effect.succeed(limit),
          onSome: (id) => ledger.extend(id, limit)
        })
        const units = Units(Math.min(reserved, limit))
        const { maxTokens, ...bounds } = yield* Effect.mapError(
          boundCall(settings, record, quote, units),
          () => new TurnBudgetExhausted({ limit: reserved < limit ? "balance" : "budget" })
        )
        return { ...(yield* begin(turn, { own: false, ...bounds }, quote)), maxTokens }
      }).pipe(transaction.run, (begun) => withOwnerLock(turn.userId, begun))

    /**
     * Admits a call covered by the unit of the message, regardless of earlier calls, in one statement. None for any
     * other call.
     */
    const admitWithinMessage = (turn: AgentTurn, quote: Quote) => {
      const { maxTokens, ...bounds } = boundWholeCall(quote)
      const { outputCost } = quote
      const cost = { own: false, ...bounds }
      const admitted: AdmittedCall = isFree(quote) ? { cost, outputCost } : { cost, outputCost, maxTokens }
      return bounds.promptMicros + bounds.answerMicros > messageCostLimit
        ? Effect.succeedNone
        : Effect.map(turns.beginCall(turn, cost, messageCostLimit), (begun) =>
            begun ? Option.some(admitted) : Option.none()
          )
    }

    const quoteCall = (turn: AgentTurn, { ownKeysOnly }: Pick<TurnRecord, "ownKeysOnly">, request: TurnChatRequest) => {
      const caller = { userId: turn.userId, agentId: turn.agentId }
      return ai
        .quote(Object.assign({}, request, { caller, ownKeysOnly }))
        .pipe(
          Effect.catchTag("ModelsUnavailable", (error) =>
            Effect.fail(ownKeysOnly ? new TurnBudgetExhausted({ limit: "balance" }) : error)
          )
        )
    }

    /** Reads the turn only if the unit of its message does not cover the call. */
    const admit = Effect.fnUntraced(function* (
      turn: AgentTurn,
      request: TurnChatRequest
    ): Effect.fn.Return<AdmittedCall, ChatError | TurnNotInProgress | TurnBudgetExhausted> {
      const expected = Option.getOrUndefined(yield* Effect.option(quoteCall(turn, { ownKeysOnly: false }, request)))
      const admitted =
        expected === undefined || expected.ownKey ? Option.none() : yield* admitWithinMessage(turn, expected)
      if (Option.isSome(admitted)) return admitted.value
      const record = yield* Effect.mapError(yield* turns.find(turn), () => new TurnNotInProgress())
      const quote = yield* quoteCall(turn, record, request)
      if (quote.ownKey) return yield* begin(turn, { own: true, ...freeCall }, quote)
      return yield* isFree(quote) ? begin(turn, { own: false, ...freeCall }, quote) : beginPaid(turn, quote)
    })

    /** Drops images if the model does not accept them; the conversation may have begun with another model. */
    const withAcceptedImages = (turn: AgentTurn, request: TurnChatRequest) =>
      listReferencedImages(request.messages).length === 0
        ? Effect.succeed(request)
        : Effect.map(Effect.option(quoteCall(turn, { ownKeysOnly: false }, request)), (quote) =>
            Option.exists(quote, ({ seesImages }) => !seesImages)
              ? { ...request, messages: dropReferencedImages(request.messages) }
              : request
          )

    /** Admits a call of a turn in progress and returns its events. The call ends with the scope or with its turn. */
    const open = Effect.fnUntraced(function* (
      turn: AgentTurn,
      received: TurnChatRequest
    ): Effect.fn.Return<
      ChunkReader<TurnModelEvent, ChatError | TurnNotInProgress>,
      ChatError | RateLimitExceeded | TurnNotInProgress | TurnBudgetExhausted,
      Scope.Scope
    > {
      yield* limiter.take("runtime-model", turn.userId)
      const request = yield* withAcceptedImages(turn, received)
      // Hot path: plain variables, since an answer has hundreds of deltas, forwarded by a single fiber.
      const texts: Array<string> = []
      let isEnded = false
      const end = (call: CallCost, outcome: Parameters<TurnRepository["Type"]["endCall"]>[2]) =>
        Effect.suspend(() => {
          if (isEnded) return Effect.void
          const stored = Effect.map(retryOverOutage(turns.endCall(turn, call, outcome)), () => {
            isEnded = true
          })
          return Effect.uninterruptible(stored)
        })
      const costSoFar = ({ cost: { own, promptMicros }, outputCost }: AdmittedCall) => ({
        costMicros: own ? noUsdMicros : UsdMicros(promptMicros + Math.ceil(estimateTokens(texts.join("")) * outputCost))
      })
      const admitted = yield* acquireScoped(admit(turn, request), (call) => end(call.cost, costSoFar(call)))
      const { cost, maxTokens } = admitted

      const clock = yield* Effect.clock
      let checkAt = clock.unsafeCurrentTimeMillis() + turnCheckIntervalMs
      const checkTurn = Effect.flatMap(turns.find(turn), (found) =>
        Option.isSome(found) ? Effect.void : new TurnNotInProgress()
      )
      const meter = ({ model, ownKey, provider }: ChatOpening, events: ReadonlyArray<ModelEvent>) => {
        const passed = events.map((event): TurnModelEvent => {
          if (event.type === "done") return { type: "done", model, provider }
          if (event.type === "delta") texts.push(event.text)
          else texts.push(event.call.name, event.call.arguments)
          return event
        })
        const last = events.at(-1)
        if (last?.type === "done")
          return Effect.as(end(cost, { costMicros: ownKey ? noUsdMicros : toUsdMicros(last.costUsd) }), passed)
        const now = clock.unsafeCurrentTimeMillis()
        if (now < checkAt) return Effect.succeed(passed)
        checkAt = now + turnCheckIntervalMs
        return Effect.as(checkTurn, passed)
      }

      const options = maxTokens === undefined ? request.options : { ...request.options, maxTokens }
      const fallbackCostLimitUsd = cost.own
        ? undefined
        : convertMicrosToUsd(UsdMicros(cost.promptMicros + cost.answerMicros))
      const caller = { userId: turn.userId, agentId: turn.agentId }
      const openCall = provideDirectly(
        Effect.flatMap(loadImages(turn, request.messages), (messages) =>
          ai.open({
            ...request,
            messages,
            options,
            caller,
            ownKeysOnly: cost.own,
            fallbackCostLimitUsd
          })
        ),
        Context.make(Scope.Scope, yield* Effect.scope)
      ).pipe(Effect.tapError(() => end(cost, "failed")))
      type Reader = ChunkReader<TurnModelEvent, ChatError | TurnNotInProgress>
      const readMetered = ({ opening, read }: OpenChat): Reader =>
        // Stored before the turn can end.
        Effect.tapError(
          Effect.flatMap(read, (events) => (events === null ? Effect.succeed(null) : meter(opening, events))),
          () => end(cost, costSoFar(admitted))
        )
      let reader: Reader = Effect.flatMap(openCall, (call) => {
        reader = readMetered(call)
        return reader
      })
      return Effect.suspend(() => reader)
    }, withExportedSpan("TurnModelCalls.open"))

    return { open }
  })
}) {}
