import { DateTime, Effect, Option, Ref } from "effect"
import { keepRenewed, leaseDuration } from "../../limits/Lease.ts"
import { awaitOpenCalls } from "./OpenCalls.ts"
import { type TurnUsage, unusedTurn } from "./TurnPricing.ts"
import type { TurnPayment } from "./TurnPayment.ts"
import { type AgentTurn, TurnRepository } from "./TurnRepository.ts"

interface TaskTurnOptions {
  readonly payment: TurnPayment
  readonly report: (usage: TurnUsage) => Effect.Effect<void>
}

/** Turns of tasks, which have no message. Their caller charges them. */
export class TaskTurns extends Effect.Service<TaskTurns>()("@berth/TaskTurns", {
  effect: Effect.map(TurnRepository, (turns) => ({
    /**
     * Begins a turn that ends at the latest with the scope. `end` returns its usage and is idempotent; `report`
     * receives the usage.
     */
    begin: Effect.fn("TaskTurns.begin")(function* (turn: AgentTurn, { payment, report }: TaskTurnOptions) {
      const usage = yield* Ref.make<TurnUsage>(unusedTurn)
      const end = Effect.zipRight(awaitOpenCalls(turns, turn), turns.end(turn.turnId)).pipe(
        Effect.tap((ended) => (Option.isSome(ended) ? Ref.set(usage, ended.value) : Effect.void)),
        Effect.zipRight(Ref.get(usage)),
        Effect.tap(report)
      )
      const leaseUntil = Effect.map(DateTime.now, DateTime.addDuration(leaseDuration))
      yield* Effect.acquireRelease(
        Effect.flatMap(leaseUntil, (until) => turns.begin(turn, payment, until)),
        () => Effect.catchAllCause(end, (cause) => Effect.logWarning("Turn of a task not ended", cause))
      )
      yield* Effect.forkScoped(
        keepRenewed(Effect.flatMap(leaseUntil, (until) => turns.renewLeases([turn.turnId], until)))
      )
      return end
    })
  }))
}) {}
