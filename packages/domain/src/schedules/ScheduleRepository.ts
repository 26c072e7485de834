import { Context, type DateTime, type Duration, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { Schedule, ScheduleId } from "./Schedule.ts"

/** A schedule to decide on, locked until the transaction ends. */
export interface ClaimedSchedule {
  readonly schedule: Schedule
  readonly ownerId: UserId
  /** Null for a new or changed schedule. */
  readonly nextDueAt: DateTime.Utc | null
  /** Whether the database's clock was set back after `nextDueAt` was decided. */
  readonly isPlannedInFuture: boolean
  /** Time of the database's clock, which all workers share. */
  readonly now: DateTime.Utc
}

export class ScheduleRepository extends Context.Tag("@berth/ScheduleRepository")<
  ScheduleRepository,
  {
    /**
     * Returns the number of schedules before the insertion; inserts nothing if it has reached `maximum`. Heartbeats do
     * not count.
     */
    readonly insert: (schedule: Schedule, maximum: number) => Effect.Effect<number>
    /** Oldest first. */
    readonly list: (agentId: AgentId) => Effect.Effect<ReadonlyArray<Schedule>>
    readonly find: (agentId: AgentId, id: ScheduleId) => Effect.Effect<Option.Option<Schedule>>
    /** Locks the schedule until the running transaction ends. */
    readonly lock: (agentId: AgentId, id: ScheduleId) => Effect.Effect<Option.Option<Schedule>>
    readonly update: (schedule: Schedule) => Effect.Effect<void>
    readonly remove: (agentId: AgentId, id: ScheduleId) => Effect.Effect<boolean>
    /** Removes the owner's schedules created or changed at `since` or later, except heartbeats. */
    readonly removeSince: (ownerId: UserId, since: DateTime.Utc) => Effect.Effect<void>
    /** Claims due, new and changed schedules. Concurrent claims are disjoint. */
    readonly claimDue: (limit: number) => Effect.Effect<ReadonlyArray<ClaimedSchedule>>
    readonly plan: (id: ScheduleId, nextDueAt: Option.Option<DateTime.Utc>) => Effect.Effect<void>
    /** Waits until the next schedule is due or any process changes one, at most `atMost`. */
    readonly awaitDue: (atMost: Duration.Duration) => Effect.Effect<void>
  }
>() {}
