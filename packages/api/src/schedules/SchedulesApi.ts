import { maximumCronLength } from "@berth/domain/shared/CronTimes"
import {
  type AgentRun,
  AgentRunId,
  AgentRunState,
  maximumSkillRunsInProgress,
  SkillInput
} from "@berth/domain/schedules/runs/AgentRun"
import { OnMissed, ScheduleId } from "@berth/domain/schedules/Schedule"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema, Struct } from "effect"
import { SkillNotFoundBody } from "../agents/AgentErrorBodies.ts"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { pageOf, pageQuery } from "../http/Pagination.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import {
  AgentRunNotFoundBody,
  HeartbeatNotChangeableBody,
  ScheduleInvalidBody,
  ScheduleLimitReachedBody,
  ScheduleNotFoundBody,
  SkillDisabledBody,
  SkillInputInvalidBody,
  SkillRunLimitReachedBody
} from "./ScheduleErrorBodies.ts"

const RunView = Schema.Struct({
  id: AgentRunId,
  status: AgentRunState,
  dueAt: Schema.NullOr(Timestamp).annotations({
    description: "Time of the schedule; null for a run without a schedule"
  }),
  reason: Schema.NullOr(Schema.String).annotations({ description: "Reason for a run without success" }),
  result: Schema.NullOr(Schema.String).annotations({ description: "The agent's reply, or the tool's result" }),
  units: Schema.NullOr(Schema.Int).annotations({ description: "Units charged; null until the end" }),
  repeats: Schema.Int.annotations({
    description: "Number of later times refused with this run within a minute of its end; they have no separate runs"
  }),
  createdAt: Timestamp,
  startedAt: Schema.NullOr(Timestamp),
  endedAt: Schema.NullOr(Timestamp)
}).annotations({ identifier: "AgentRunView" })

const fields = {
  cron: Schema.String.pipe(Schema.maxLength(maximumCronLength)).annotations({
    description: "5 fields (minute, hour, day of the month, month, day of the week), or 6 with the second first"
  }),
  timezone: Schema.String.annotations({ description: "IANA time zone, for example Europe/London" }),
  prompt: Schema.NullOr(Schema.String).annotations({ description: "Message to the agent; either this or `skillId`" }),
  skillId: Schema.NullOr(Schema.String),
  input: Schema.NullOr(SkillInput),
  onMissed: OnMissed.annotations({
    description:
      "For times at which no worker ran: `once` runs once for all, `all` up to ten of the newest, `skip` none. The history lists all"
  }),
  enabled: Schema.Boolean.annotations({ description: "False pauses the schedule" })
}

const ScheduleView = Schema.Struct({
  id: ScheduleId,
  ...fields,
  heartbeat: Schema.Boolean.annotations({
    description: "Whether the schedule is `heartbeat` of the agent's configuration"
  }),
  nextRuns: Schema.Array(Timestamp),
  lastRun: Schema.NullOr(RunView),
  createdAt: Timestamp,
  updatedAt: Timestamp
}).annotations({ identifier: "ScheduleView" })

const path = Schema.Struct({ id: AgentId })
const schedulePath = Schema.Struct({ id: AgentId, scheduleId: ScheduleId })
const runPath = Schema.Struct({ id: AgentId, skillId: Schema.String, runId: AgentRunId })

const list = HttpApiEndpoint.get("list", "/api/agents/:id/schedules")
  .setPath(path)
  .addSuccess(Schema.Struct({ schedules: Schema.Array(ScheduleView), count: Schema.Int, status: Schema.Literal("ok") }))
  .annotate(OpenApi.Summary, "List the schedules of an agent")
  .annotate(OpenApi.Description, "Oldest first, with the next times and the last run of each schedule.")

const create = HttpApiEndpoint.post("create", "/api/agents/:id/schedules")
  .setPath(path)
  .setPayload(
    payload({
      cron: fields.cron,
      timezone: Schema.optionalWith(fields.timezone, { default: () => "UTC" }),
      prompt: Schema.optionalWith(fields.prompt, { default: () => null }),
      skillId: Schema.optionalWith(fields.skillId, { default: () => null }),
      input: Schema.optionalWith(fields.input, { default: () => null }),
      onMissed: Schema.optionalWith(fields.onMissed, { default: () => "once" as const }),
      enabled: Schema.optionalWith(fields.enabled, { default: () => true })
    })
  )
  .addSuccess(Schema.Struct({ schedule: ScheduleView }), { status: 201 })
  .addError(ScheduleInvalidBody)
  .addError(SkillNotFoundBody)
  .addError(SkillDisabledBody)
  .addError(SkillInputInvalidBody)
  .addError(ScheduleLimitReachedBody)
  .addError(IdempotencyErrors)
  .annotate(OpenApi.Summary, "Create a schedule")
  .annotate(
    OpenApi.Description,
    "Each time starts one run, which is charged like a message. A time skipped by a change to summer time runs after the change; a time repeated by a change to winter time runs once. `Idempotency-Key` makes repetitions safe."
  )

const change = HttpApiEndpoint.patch("change", "/api/agents/:id/schedules/:scheduleId")
  .setPath(schedulePath)
  .setPayload(
    payload({
      cron: Schema.optionalWith(fields.cron, { exact: true }),
      timezone: Schema.optionalWith(fields.timezone, { exact: true }),
      prompt: Schema.optionalWith(fields.prompt, { exact: true }),
      skillId: Schema.optionalWith(fields.skillId, { exact: true }),
      input: Schema.optionalWith(fields.input, { exact: true }),
      onMissed: Schema.optionalWith(fields.onMissed, { exact: true }),
      enabled: Schema.optionalWith(fields.enabled, { exact: true })
    })
  )
  .addSuccess(Schema.Struct({ schedule: ScheduleView }))
  .addError(ScheduleNotFoundBody)
  .addError(HeartbeatNotChangeableBody)
  .addError(ScheduleInvalidBody)
  .addError(SkillNotFoundBody)
  .addError(SkillDisabledBody)
  .addError(SkillInputInvalidBody)
  .annotate(OpenApi.Summary, "Update a schedule")
  .annotate(OpenApi.Description, "Absent members remain unchanged. `enabled: false` pauses the schedule.")

const remove = HttpApiEndpoint.del("remove", "/api/agents/:id/schedules/:scheduleId")
  .setPath(schedulePath)
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(ScheduleNotFoundBody)
  .addError(HeartbeatNotChangeableBody)
  .annotate(OpenApi.Summary, "Delete a schedule")
  .annotate(OpenApi.Description, "Deletes its history too.")

const runs = HttpApiEndpoint.get("runs", "/api/agents/:id/schedules/:scheduleId/runs")
  .setPath(schedulePath)
  .setUrlParams(pageQuery)
  .addSuccess(Schema.Struct({ ...pageOf({ runs: Schema.Array(RunView) }).fields, status: Schema.Literal("ok") }))
  .addError(ScheduleNotFoundBody)
  .annotate(OpenApi.Summary, "List the runs of a schedule")
  .annotate(
    OpenApi.Description,
    "Newest first, including skipped and missed runs with their reasons. The newest 1,000 are kept for 30 days."
  )

export class SchedulesApi extends HttpApiGroup.make("schedules")
  .add(list)
  .add(create)
  .add(change)
  .add(remove)
  .add(runs)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}

const start = HttpApiEndpoint.post("start", "/api/agents/:id/skills/:skillId/runs")
  .setPath(Schema.Struct(Struct.pick(runPath.fields, "id", "skillId")))
  .setPayload(payload({ input: Schema.optionalWith(SkillInput, { default: () => ({}), nullable: true }) }))
  .addSuccess(Schema.Struct({ id: AgentRunId, status: Schema.Literal("waiting") }), { status: 202 })
  .addError(SkillNotFoundBody)
  .addError(SkillDisabledBody)
  .addError(SkillInputInvalidBody)
  .addError(SkillRunLimitReachedBody)
  .addError(IdempotencyErrors)
  .annotate(OpenApi.Summary, "Run a skill")
  .annotate(
    OpenApi.Description,
    `Runs one tool of an enabled skill in the agent's instance, in the background. \`input.tool\` may be absent for a skill with one tool. A successful run costs one unit. An agent has at most ${maximumSkillRunsInProgress} runs in progress. \`Idempotency-Key\` makes repetitions safe.`
  )

const read = HttpApiEndpoint.get("read", "/api/agents/:id/skills/:skillId/runs/:runId")
  .setPath(runPath)
  .addSuccess(Schema.Struct({ run: RunView, status: Schema.Literal("ok") }))
  .addError(AgentRunNotFoundBody)
  .annotate(OpenApi.Summary, "Retrieve a run of a skill")
  .annotate(OpenApi.Description, "`status` is the progress of the run.")

const cancel = HttpApiEndpoint.del("cancel", "/api/agents/:id/skills/:skillId/runs/:runId")
  .setPath(runPath)
  .addSuccess(Schema.Struct({ run: RunView, success: Schema.Boolean }))
  .addError(AgentRunNotFoundBody)
  .annotate(OpenApi.Summary, "Cancel a run of a skill")
  .annotate(OpenApi.Description, "No effect on a run that has ended. A running tool finishes.")

export class SkillRunsApi extends HttpApiGroup.make("skillRuns")
  .add(start)
  .add(read)
  .add(cancel)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}

export const viewRun = ({ agentId: _agentId, skillId: _skillId, state, ...run }: AgentRun) => ({
  ...run,
  status: state
})
