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
  /** Whether a model call was ever begun, failed ones included. */
  readonly callBegun: boolean
}

/** Change of a turn's usage by one call; `own`: paid by the owner's own key. */
export interface CallCost extends Pick<BoundedCall, "promptMicros" | "answerMicros"> {
  readonly own: boolean
}

/**
 * The turns in progress and their model calls. A turn holds a lease that its process renews. Lock order: turn, reservation,
 * day, user, message, session.
 */
export class TurnRepository extends Context.Tag("@berth/TurnRepository")<
  TurnRepository,
  {
    readonly begin: (turn: AgentTurn, payment: TurnPayment, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    readonly find: (turn: AgentTurn) => Effect.Effect<Option.Option<TurnRecord>>
    /** The same, locked until the transaction ends. */
    readonly lock: (turn: AgentTurn) => Effect.Effect<Option.Option<TurnRecord>>
    /**
     * Counts a call before it is sent. False when the turn is not in progress. With `within` also when the turn's cost with the
     * call's upper bound exceeds it, when the turn has no open reservation, or when only the owner's keys pay.
     */
    readonly beginCall: (turn: AgentTurn, call: CallCost, within?: UsdMicros) => Effect.Effect<boolean>
    /**
     * Ends a call with the cost of its answer; `promptMicros` replaces the estimate. `failed`: the provider produced nothing,
     * so the call counts as never made. Ignores ended turns.
     */
    readonly endCall: (
      turn: AgentTurn,
      call: CallCost,
      outcome: "failed" | { readonly costMicros: UsdMicros }
    ) => Effect.Effect<void>
    /** Whether turns of the agent are in progress, without those whose lease has expired. */
    readonly isBusy: (agentId: AgentId) => Effect.Effect<boolean>
    /** Raises the limit of a turn in progress that has one, or lowers it by negative units. */
    readonly raiseLimit: (turnId: string, units: number) => Effect.Effect<void>
    /** Turns that another transaction holds are left out. */
    readonly renewLeases: (turnIds: ReadonlyArray<string>, leaseUntil: DateTime.Utc) => Effect.Effect<void>
    /** Asks the processes of turns to stop them. Ignores ended turns. */
    readonly requestStop: (turnIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** Those of the turns that are to stop. */
    readonly listStopRequested: (turnIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
    /** Turns whose lease has expired. */
    readonly listAbandoned: (now: DateTime.Utc) => Effect.Effect<ReadonlyArray<string>>
    /** Ends a turn and returns its record; with `abandonedAt` only if its lease has expired. None when it has ended before. */
    readonly end: (turnId: string, abandonedAt?: DateTime.Utc) => Effect.Effect<Option.Option<TurnRecord>>
  }
>() {}
