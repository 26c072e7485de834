import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentStatus } from "../../agents/AgentStatus.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { ScheduleId } from "../Schedule.ts"
import type { AgentRun, AgentRunId, AgentRunState, SkillInput } from "./AgentRun.ts"

/** A prompt, or a skill with its input. */
interface RunWork {
  readonly prompt: string | null
  readonly skillId: string | null
  readonly input: SkillInput | null
}

interface NewAgentRun extends RunWork {
  readonly id: AgentRunId
  readonly agentId: AgentId
  readonly tick: { readonly scheduleId: ScheduleId; readonly dueAt: DateTime.Utc } | null
  readonly state: Extract<AgentRunState, "waiting" | "missed" | "skipped">
  readonly reason: string | null
}

/** A run in progress with the state of its agent and owner. */
export interface StartedRun extends RunWork {
  readonly id: AgentRunId
  readonly agentId: AgentId
  readonly scheduleId: ScheduleId | null
  readonly ownerId: UserId
  readonly agentStatus: AgentStatus
  readonly isSuspended: boolean
}

export interface RunEnd {
  readonly state: Extract<AgentRunState, "succeeded" | "failed" | "refused" | "skipped" | "canceled">
  readonly reason: string | null
  readonly result: string | null
}

export interface RunPage {
  readonly limit: number
  readonly offset: number
}

export class AgentRunRepository extends Context.Tag("@berth/AgentRunRepository")<
  AgentRunRepository,
  {
    /** False if this time of the schedule already has a run. */
    readonly insert: (run: NewAgentRun) => Effect.Effect<boolean>
    /** Adds `times` to the schedule's newest run if it was refused less than `refusalPause` ago; false otherwise. */
    readonly repeatRefusal: (scheduleId: ScheduleId, times: number) => Effect.Effect<boolean>
    /** Waiting and running runs. */
    readonly countInProgress: (scheduleId: ScheduleId) => Effect.Effect<number>
    /**
     * Waiting and running runs without a schedule. Joins the running transaction and keeps the number exact until its
     * end.
     */
    readonly countSkillRunsInProgress: (agentId: AgentId) => Effect.Effect<number>
    /** Newest first. */
    readonly listOfSchedule: (
      scheduleId: ScheduleId,
      page: RunPage
    ) => Effect.Effect<{ readonly runs: ReadonlyArray<AgentRun>; readonly total: number }>
    readonly findOfSkill: (agentId: AgentId, skillId: string, id: AgentRunId) => Effect.Effect<Option.Option<AgentRun>>
    /** The newest run of each of the agent's schedules. */
    readonly findLast: (agentId: AgentId) => Effect.Effect<ReadonlyMap<ScheduleId, AgentRun>>
    /** Changes a run to `running`. None if it has ended or is deleted; returns a run in progress again. */
    readonly begin: (id: AgentRunId) => Effect.Effect<Option.Option<StartedRun>>
    /** Stores the end with the units charged for the turn `turnId`. False if the run has already ended. */
    readonly finish: (id: AgentRunId, turnId: string, end: RunEnd) => Effect.Effect<boolean>
    /** Fails runs with a lost job; returns their number. */
    readonly failLost: Effect.Effect<number>
    /**
     * Deletes runs that ended before `before`, and all but the newest `kept` of each schedule; returns their number.
     */
    readonly prune: (before: DateTime.Utc, keep: number) => Effect.Effect<number>
  }
>() {}
