import { DateTime, Duration, Effect, Either, Option } from "effect"
import { DomainEvents } from "../events/DomainEvents.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { AgentLog } from "../instances/AgentLog.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { parseCron } from "../shared/CronTimes.ts"
import { AgentRunId } from "./runs/AgentRun.ts"
import { AgentRunRepository } from "./runs/AgentRunRepository.ts"
import { maximumRunsInProgress } from "./Schedule.ts"
import { ScheduledTaskJob } from "./ScheduleJobs.ts"
import { type ClaimedSchedule, ScheduleRepository } from "./ScheduleRepository.ts"
import { decideTick, findNextDue, type TickDecision } from "./TickDecision.ts"

/** Maximum schedules per transaction. */
const batch = 50

/** Bounds the delay of a schedule after a lost notification. */
const longestWait = Duration.seconds(30)

const heartbeatPrompt =
  "This is your heartbeat, which your configuration schedules. Do what is due now, as far as you know it, and report briefly. If nothing is due, reply with: Nothing to do."

const missedReason = "No worker ran at this time."
const crowdedReason = `${maximumRunsInProgress} earlier runs had not ended.`

/** Creates runs at the times of schedules. A time, its run and its job are written in one transaction. */
export class ScheduleTicks extends Effect.Service<ScheduleTicks>()("@berth/ScheduleTicks", {
  effect: Effect.gen(function* () {
    const agentLog = yield* AgentLog
    const events = yield* DomainEvents
    const ids = yield* IdGenerator
    const outbox = yield* Outbox
    const runs = yield* AgentRunRepository
    const schedules = yield* ScheduleRepository
    const transaction = yield* Transaction

    const decide = ({ isPlannedInFuture, now, schedule, ...claimed }: ClaimedSchedule): TickDecision => {
      const times = parseCron(schedule.cron, schedule.timezone)
      const nothing: TickDecision = { runs: [], missed: [], nextDueAt: Option.none() }
      if (Either.isLeft(times)) return nothing
      const planned = isPlannedInFuture ? null : claimed.nextDueAt
      const start = isPlannedInFuture ? now : DateTime.min(schedule.updatedAt, now)
      const nextDueAt = planned ?? Option.getOrNull(findNextDue(times.right, start))
      if (nextDueAt === null) return nothing
      return decideTick({ times: times.right, onMissed: schedule.onMissed, nextDueAt }, now)
    }

    const insert = Effect.fnUntraced(function* (
      { schedule }: ClaimedSchedule,
      dueAt: DateTime.Utc,
      end: { readonly state: "waiting" | "missed" | "skipped"; readonly reason: string | null }
    ) {
      const id = AgentRunId.make(yield* ids.next("run"))
      const { agentId, id: scheduleId, input, kind, skillId } = schedule
      const prompt = kind === "heartbeat" ? heartbeatPrompt : schedule.prompt
      const isNew = yield* runs.insert({ id, agentId, tick: { scheduleId, dueAt }, prompt, skillId, input, ...end })
      return isNew ? Option.some(id) : Option.none()
    })

    /** Adds one log entry for all missed times, and an event for the newest. */
    const reportMissed = Effect.fnUntraced(function* (
      { ownerId, schedule: { agentId, cron, id } }: ClaimedSchedule,
      missed: ReadonlyArray<DateTime.Utc>
    ) {
      const dueAt = missed.at(-1)
      if (dueAt === undefined) return
      yield* agentLog.append(agentId, "warning", `Schedule ${id} (${cron}) missed ${missed.length} runs`)
      const data = { agentId, scheduleId: id, dueAt, reason: missedReason }
      yield* events.append({ kind: "schedule.missed", data }, ownerId)
    })

    const fireOne = Effect.fnUntraced(function* (claimed: ClaimedSchedule) {
      const { missed, nextDueAt, runs: due } = decide(claimed)
      const recorded = yield* Effect.filter(missed, (dueAt) =>
        Effect.map(insert(claimed, dueAt, { state: "missed", reason: missedReason }), Option.isSome)
      )
      yield* reportMissed(claimed, recorded)
      const isRefused = due.length > 0 && (yield* runs.repeatRefusal(claimed.schedule.id, due.length))
      const starting = isRefused ? [] : due
      let inProgress = starting.length === 0 ? 0 : yield* runs.countInProgress(claimed.schedule.id)
      for (const dueAt of starting) {
        if (inProgress >= maximumRunsInProgress) {
          yield* insert(claimed, dueAt, { state: "skipped", reason: crowdedReason })
          continue
        }
        inProgress += 1
        const runId = yield* insert(claimed, dueAt, { state: "waiting", reason: null })
        if (Option.isSome(runId)) yield* outbox.append(ScheduledTaskJob, { runId: runId.value }, claimed.ownerId)
      }
      yield* schedules.plan(claimed.schedule.id, nextDueAt)
    })

    /** Decides due, new and changed schedules; returns whether more may be due. */
    const fire = Effect.fn("ScheduleTicks.fire")(function* () {
      const claimed = yield* transaction.run(
        Effect.tap(schedules.claimDue(batch), (due) => Effect.forEach(due, fireOne, { discard: true }))
      )
      return claimed.length === batch
    })

    return { fire: fire(), awaitDue: schedules.awaitDue(longestWait) }
  })
}) {}
