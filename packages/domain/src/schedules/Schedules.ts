import { DateTime, Effect, Either, Option } from "effect"
import type { Agent } from "../agents/Agent.ts"
import { Allowances } from "../billing/subscriptions/Allowances.ts"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { User } from "../shared/User.ts"
import { hasTime, noTimeReason, parseCron } from "../shared/CronTimes.ts"
import { AgentRunRepository, type RunPage } from "./runs/AgentRunRepository.ts"
import { SkillCalls } from "./runs/SkillCalls.ts"
import { maximumPromptLength, type Schedule, ScheduleId, scheduleLimits } from "./Schedule.ts"
import { HeartbeatNotChangeable, ScheduleInvalid, ScheduleLimitReached, ScheduleNotFound } from "./SchedulesErrors.ts"
import { ScheduleRepository } from "./ScheduleRepository.ts"

type ScheduleFields = Pick<Schedule, "cron" | "timezone" | "prompt" | "skillId" | "input" | "onMissed" | "enabled">

const nextRunsShown = 5

const kindOf = ({ skillId }: ScheduleFields) => (skillId === null ? "prompt" : "skill")

/** A prompt replaces a skill, and vice versa. */
const replacedWork = ({ prompt = null, skillId = null }: Partial<ScheduleFields>): Partial<ScheduleFields> => {
  if (prompt !== null) return { skillId: null, input: null }
  return skillId === null ? {} : { prompt: null }
}

export class Schedules extends Effect.Service<Schedules>()("@berth/Schedules", {
  effect: Effect.gen(function* () {
    const allowances = yield* Allowances
    const ids = yield* IdGenerator
    const repository = yield* ScheduleRepository
    const runs = yield* AgentRunRepository
    const skillCalls = yield* SkillCalls
    const transaction = yield* Transaction

    const validate = Effect.fnUntraced(function* (owner: User, agent: Agent, fields: ScheduleFields) {
      const { cron, enabled, input, prompt, skillId, timezone } = fields
      const times = yield* Either.mapLeft(parseCron(cron, timezone), (reason) => new ScheduleInvalid({ reason }))
      if (enabled && !hasTime(times)) return yield* new ScheduleInvalid({ reason: `cron ${noTimeReason}` })
      if ((prompt === null) === (skillId === null))
        return yield* new ScheduleInvalid({ reason: "Give either prompt, or skillId with input." })
      if (prompt !== null && (prompt.trim() === "" || prompt.length > maximumPromptLength))
        return yield* new ScheduleInvalid({ reason: `prompt must have 1 to ${maximumPromptLength} characters.` })
      const call = skillId === null ? null : yield* skillCalls.validate(owner, agent, skillId, input ?? {})
      return call
    })

    const describe = Effect.fnUntraced(function* (schedule: Schedule) {
      const times = yield* Effect.option(parseCron(schedule.cron, schedule.timezone))
      const now = yield* DateTime.now
      const isPlanned = schedule.enabled && Option.isSome(times)
      return { schedule, nextRuns: isPlanned ? times.value.listAfter(now, nextRunsShown) : [] }
    })

    const require = Effect.fnUntraced(function* (agent: Agent, id: ScheduleId) {
      return yield* Effect.mapError(yield* repository.find(agent.id, id), () => new ScheduleNotFound())
    })

    const requireChangeable = Effect.fnUntraced(function* (agent: Agent, id: ScheduleId) {
      const schedule = yield* Effect.mapError(yield* repository.lock(agent.id, id), () => new ScheduleNotFound())
      return schedule.kind === "heartbeat" ? yield* new HeartbeatNotChangeable() : schedule
    })

    const list = Effect.fn("Schedules.list")(function* (agent: Agent) {
      const [found, last] = yield* Effect.all([repository.list(agent.id), runs.findLast(agent.id)])
      return yield* Effect.forEach(found, (schedule) =>
        Effect.map(describe(schedule), (described) => ({ ...described, lastRun: last.get(schedule.id) ?? null }))
      )
    })

    const create = Effect.fn("Schedules.create")(function* (owner: User, agent: Agent, fields: ScheduleFields) {
      const input = yield* validate(owner, agent, fields)
      const limit = scheduleLimits[(yield* allowances.find(owner)).plan]
      const now = yield* DateTime.now
      const id = ScheduleId.make(yield* ids.next("sch"))
      const times = { createdAt: now, updatedAt: now }
      const schedule: Schedule = { ...fields, ...times, input, kind: kindOf(fields), id, agentId: agent.id }
      const current = yield* repository.insert(schedule, limit)
      if (current >= limit) return yield* new ScheduleLimitReached({ current, limit })
      return { ...(yield* describe(schedule)), lastRun: null }
    })

    const merge = Effect.fnUntraced(function* (
      owner: User,
      agent: Agent,
      id: ScheduleId,
      changes: Partial<ScheduleFields>
    ) {
      const stored = yield* requireChangeable(agent, id)
      const merged = { ...stored, ...replacedWork(changes), ...changes, updatedAt: yield* DateTime.now }
      const input = yield* validate(owner, agent, merged)
      const changed: Schedule = { ...merged, input, kind: kindOf(merged) }
      yield* repository.update(changed)
      return changed
    })

    /** Absent members stay, including concurrent changes. */
    const change = Effect.fn("Schedules.change")(function* (
      owner: User,
      agent: Agent,
      id: ScheduleId,
      changes: Partial<ScheduleFields>
    ) {
      const changed = yield* transaction.run(merge(owner, agent, id, changes))
      const last = yield* runs.findLast(agent.id)
      return { ...(yield* describe(changed)), lastRun: last.get(id) ?? null }
    })

    const remove = Effect.fn("Schedules.remove")(function* (agent: Agent, id: ScheduleId) {
      yield* transaction.run(Effect.zipRight(requireChangeable(agent, id), repository.remove(agent.id, id)))
    })

    const listRuns = Effect.fn("Schedules.listRuns")(function* (agent: Agent, id: ScheduleId, page: RunPage) {
      yield* require(agent, id)
      return yield* runs.listOfSchedule(id, page)
    })

    return { list, create, change, remove, listRuns }
  })
}) {}
