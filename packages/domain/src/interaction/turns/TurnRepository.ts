import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UsdMicros } from "../../shared/Money.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { TurnPayment } from "./TurnPayment.ts"
import type { BoundedCall, TurnUsage } from "./TurnPricing.ts"

/** A turn of an agent; `turnId` is a message id or a task id. */
export interface AgentTurn {
  readonly userId: UserId
  readonly agentId: AgentId
  readonly turnId: string
}

export interface TurnRecord extends TurnUsage, TurnPayment {
  /** Whether any model call began, including failed ones. */
  readonly callBegun: boolean
}

/** Change of a turn's usage by one call. `own`: paid by the owner's own key. */
export interface CallCost extends Pick<BoundedCall, "promptMicros" | "answerMicros"> {
  readonly own: boolean
}

/**
 * Turns in progress and their model calls. A turn holds a lease that its process renews. Lock order: turn, reservation,
 * day, user, message, session.
 */
export class TurnRepository extends Context.Tag("@berth/TurnRepository")<
  TurnRepository,
  {
    readonly begin: (turn: AgentTurn, payment: TurnPayment, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    readonly find: (turn: AgentTurn) => Effect.Effect<Option.Option<TurnRecord>>
    /** As `find`, locked until the transaction ends. */
    readonly lock: (turn: AgentTurn) => Effect.Effect<Option.Option<TurnRecord>>
    /**
     * Counts a call before it is sent. False if the turn is not in progress. With `within`, also false if the turn's
     * cost with the call's upper bound exceeds it, the turn has no open reservation, or only the owner's keys may pay.
     */
    readonly beginCall: (turn: AgentTurn, call: CallCost, within?: UsdMicros) => Effect.Effect<boolean>
    /**
     * Ends a call with the cost of its answer; `promptMicros` replaces the estimate. `failed`: the provider produced
     * nothing, so the call does not count. No effect for ended turns.
     */
    readonly endCall: (
      turn: AgentTurn,
      call: CallCost,
      outcome: "failed" | { readonly costMicros: UsdMicros }
    ) => Effect.Effect<void>
    /** Whether the agent has turns in progress with an unexpired lease. */
    readonly isBusy: (agentId: AgentId) => Effect.Effect<boolean>
    /** Raises the limit of a turn in progress, or lowers it for negative units. No effect without a limit. */
    readonly raiseLimit: (turnId: string, units: number) => Effect.Effect<void>
    /** Skips turns locked by another transaction. */
    readonly renewLeases: (turnIds: ReadonlyArray<string>, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    /** Requests the processes of turns to stop them. No effect for ended turns. */
    readonly requestStop: (turnIds: ReadonlyArray<string>) => Effect.Effect<void>
    readonly listStopRequested: (turnIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    /** Turns with an expired lease. */
    readonly listAbandoned: (now: DateTime.Utc) => Effect.Effect<ReadonlyArray<string>>
    /**
     * Ends a turn and returns its record; with `abandonedAt`, only if its lease has expired. None if it has already
     * ended.
     */
    readonly end: (turnId: string, abandonedAt?: DateTime.Utc) => Effect.Effect<Option.Option<TurnRecord>>
  }
>() {}
