import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { viewRun } from "@berth/api/schedules/SchedulesApi"
import { WebApi } from "@berth/api/WebApi"
import type { AgentRun } from "@berth/domain/schedules/runs/AgentRun"
import { SkillRuns } from "@berth/domain/schedules/runs/SkillRuns"
import type { Schedule } from "@berth/domain/schedules/Schedule"
import { Schedules } from "@berth/domain/schedules/Schedules"
import { type DateTime, Effect, Layer, Struct } from "effect"
import { group } from "../http/ApiGroup.ts"

interface DescribedSchedule {
  readonly schedule: Schedule
  readonly nextRuns: ReadonlyArray<DateTime.Utc>
  readonly lastRun: AgentRun | null
}

const view = ({ lastRun, nextRuns, schedule }: DescribedSchedule) => ({
  ...Struct.omit(schedule, "agentId", "kind"),
  heartbeat: schedule.kind === "heartbeat",
  nextRuns,
  lastRun: lastRun === null ? null : viewRun(lastRun)
})

const schedules = group(WebApi, "schedules", (handlers) =>
  Effect.map(Schedules, (schedules) =>
    handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const all = yield* schedules.list((yield* OwnedAgent).agent)
          return { schedules: all.map(view), count: all.length, status: "ok" as const }
        })
      )
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          return { schedule: view(yield* schedules.create(user, agent, payload)) }
        })
      )
      .handle("change", ({ path: { scheduleId }, payload }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          return { schedule: view(yield* schedules.change(user, agent, scheduleId, payload)) }
        })
      )
      .handle("remove", ({ path: { scheduleId } }) =>
        Effect.gen(function* () {
          yield* schedules.remove((yield* OwnedAgent).agent, scheduleId)
          return { success: true }
        })
      )
      .handle("runs", ({ path: { scheduleId }, urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const { runs, total } = yield* schedules.listRuns(agent, scheduleId, { limit, offset })
          return { runs: runs.map(viewRun), total, limit, offset, status: "ok" as const }
        })
      )
  )
)

const skillRuns = group(WebApi, "skillRuns", (handlers) =>
  Effect.map(SkillRuns, (runs) =>
    handlers
      .handle("start", ({ path: { skillId }, payload: { input } }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          return { id: yield* runs.start(user, agent, skillId, input), status: "waiting" as const }
        })
      )
      .handle("read", ({ path: { runId, skillId } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          return { run: viewRun(yield* runs.find(agent, skillId, runId)), status: "ok" as const }
        })
      )
      .handle("cancel", ({ path: { runId, skillId } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          return { run: viewRun(yield* runs.cancel(agent, skillId, runId)), success: true }
        })
      )
  )
)

export const layer = Layer.merge(schedules, skillRuns)
