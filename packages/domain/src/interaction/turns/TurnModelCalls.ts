import { Duration, Effect, Option, Scope } from "effect"
import { AiLayer } from "../../ai/AiLayer.ts"
import type { ChatOpening, ChatRequest } from "../../ai/calls/ChatRequest.ts"
import type { ChatError, OpenChat } from "../../ai/calls/ModelChatCalls.ts"
import { estimateTokens } from "../../ai/prompt/TokenEstimate.ts"
import type { ChunkReader } from "../../ai/streams/ChunkReader.ts"
import type { ModelEvent } from "../../ai/streams/ModelEvent.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { RateLimiter, type RateLimitExceeded } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { convertMicrosToUsd, noUsdMicros, toUsdMicros, Units, UsdMicros } from "../../shared/Money.ts"
import { TurnBudgetExhausted, TurnNotInProgress } from "./TurnErrors.ts"
import { boundCall, computeCallUnits, messageUnits, TurnSettings } from "./TurnPricing.ts"
import { type AgentTurn, type CallCost, type TurnRecord, TurnRepository } from "./TurnRepository.ts"

export type TurnChatRequest = Omit<ChatRequest, "caller" | "ownKeysOnly">

/** Interval at which a call in progress checks that its turn is. */
const turnCheckIntervalMs = Duration.toMillis("5 seconds")

type Quote = Effect.Effect.Success<ReturnType<AiLayer["quote"]>>

interface AdmittedCall {
  readonly cost: CallCost
  /** Absent for a call without a price. */
  readonly maxTokens?: number
}

/** The events of a call that is opened when they are read: only their end can name the model. */
export type TurnModelEvent = ModelEvent<Pick<ChatOpening, "model" | "provider">>

const freeCall = { promptMicros: noUsdMicros, answerMicros: noUsdMicros }

/** Model calls of turns in progress: within the turn's budget and the owner's balance, counted before they are sent. */
export class TurnModelCalls extends Effect.Service<TurnModelCalls>()("@berth/TurnModelCalls", {
  effect: Effect.gen(function* () {
    const ai = yield* AiLayer
    const turns = yield* TurnRepository
    const ledger = yield* UnitLedger
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction
    const settings = yield* TurnSettings

    const begin = (turn: AgentTurn, cost: CallCost) =>
      Effect.flatMap(turns.beginCall(turn, cost), (begun) =>
        begun ? Effect.succeed<AdmittedCall>({ cost }) : new TurnNotInProgress()
      )

    /** Extends the reservation to the call's upper bound, as far as the balance reaches, and limits the call to it. */
    const beginPaid = (turn: AgentTurn, quote: Quote) =>
      transaction.run(
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
          return { ...(yield* begin(turn, { own: false, ...bounds })), maxTokens }
        })
      )

    /** A call that fits the unit of the message needs no transaction while no other call changes the turn. */
    const beginWithinMessage = (turn: AgentTurn, record: TurnRecord, quote: Quote) => {
      const bounded =
        Option.isSome(record.reservation) && computeCallUnits(settings, record, quote) <= messageUnits
          ? boundCall(settings, record, quote, messageUnits)
          : Option.none()
      if (Option.isNone(bounded)) return beginPaid(turn, quote)
      const { maxTokens, ...bounds } = bounded.value
      const cost = { own: false, ...bounds }
      return Effect.flatMap(turns.beginCall(turn, cost, record), (begun) =>
        begun ? Effect.succeed<AdmittedCall>({ cost, maxTokens }) : beginPaid(turn, quote)
      )
    }

    const admit = (
      turn: AgentTurn,
      record: TurnRecord,
      quote: Quote
    ): Effect.Effect<AdmittedCall, TurnNotInProgress | TurnBudgetExhausted> => {
      if (quote.ownKey) return begin(turn, { own: true, ...freeCall })
      return quote.inputCost === 0 && quote.outputCost === 0
        ? begin(turn, { own: false, ...freeCall })
        : beginWithinMessage(turn, record, quote)
    }

    const quoteCall = (turn: AgentTurn, { ownKeysOnly }: TurnRecord, request: TurnChatRequest) => {
      const caller = { userId: turn.userId, agentId: turn.agentId }
      return ai
        .quote({ ...request, caller, ownKeysOnly })
        .pipe(
          Effect.catchTag("ModelsUnavailable", (error) =>
            Effect.fail(ownKeysOnly ? new TurnBudgetExhausted({ limit: "balance" }) : error)
          )
        )
    }

    /** Admits a call of a turn in progress and returns its events. The call ends with the scope, or with its turn. */
    const open = Effect.fn("TurnModelCalls.open")(function* (
      turn: AgentTurn,
      request: TurnChatRequest
    ): Effect.fn.Return<
      ChunkReader<TurnModelEvent, ChatError | TurnNotInProgress>,
      ChatError | RateLimitExceeded | TurnNotInProgress | TurnBudgetExhausted,
      Scope.Scope
    > {
      yield* limiter.take("runtime-model", turn.userId)
      const record = yield* Effect.mapError(yield* turns.find(turn), () => new TurnNotInProgress())
      const quote = yield* quoteCall(turn, record, request)
      // Hot path: plain variables, since an answer has hundreds of deltas and one fiber at a time passes them on.
      const texts: Array<string> = []
      let isEnded = false
      const end = (call: CallCost, outcome: Parameters<TurnRepository["Type"]["endCall"]>[2]) =>
        Effect.suspend(() => {
          if (isEnded) return Effect.void
          isEnded = true
          return Effect.uninterruptible(turns.endCall(turn, call, outcome))
        })
      const costSoFar = ({ own, promptMicros }: CallCost) => ({
        costMicros: own
          ? noUsdMicros
          : UsdMicros(promptMicros + Math.ceil(estimateTokens(texts.join("")) * quote.outputCost))
      })
      const { cost, maxTokens } = yield* Effect.acquireRelease(admit(turn, record, quote), (admitted) =>
        end(admitted.cost, costSoFar(admitted.cost))
      )

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
      const openCall = Scope.extend(
        ai.open({ ...request, options, caller, ownKeysOnly: cost.own, fallbackCostLimitUsd }),
        yield* Effect.scope
      ).pipe(Effect.tapError(() => end(cost, "failed")))
      type Reader = ChunkReader<TurnModelEvent, ChatError | TurnNotInProgress>
      const readMetered = ({ opening, read }: OpenChat): Reader =>
        // The cost is stored before the turn can end.
        Effect.tapError(
          Effect.flatMap(read, (events) => (events === null ? Effect.succeed(null) : meter(opening, events))),
          () => end(cost, costSoFar(cost))
        )
      let reader: Reader = Effect.flatMap(openCall, (call) => {
        reader = readMetered(call)
        return reader
      })
      return Effect.suspend(() => reader)
    })

    return { open }
  })
}) {}
