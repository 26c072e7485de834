import { Effect, Option } from "effect"
import type { Agent } from "../../agents/Agent.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { User } from "../../shared/User.ts"
import { SkillExecutionJob } from "../ScheduleJobs.ts"
import { AgentRunNotFound, SkillRunLimitReached } from "../SchedulesErrors.ts"
import { AgentRunId, maximumSkillRunsInProgress, type SkillInput } from "./AgentRun.ts"
import { AgentRunRepository } from "./AgentRunRepository.ts"
import { makeRunTurnId } from "./AgentRuns.ts"
import { SkillCalls } from "./SkillCalls.ts"

export class SkillRuns extends Effect.Service<SkillRuns>()("@berth/SkillRuns", {
  effect: Effect.gen(function* () {
    const calls = yield* SkillCalls
    const ids = yield* IdGenerator
    const outbox = yield* Outbox
    const runs = yield* AgentRunRepository
    const transaction = yield* Transaction

    /** Accepts a run and returns its id. */
    const start = Effect.fn("SkillRuns.start")(function* (
      owner: User,
      agent: Agent,
      skillId: string,
      request: SkillInput
    ) {
      const input = yield* calls.validate(owner, agent, skillId, request)
      const id = AgentRunId.make(yield* ids.next("run"))
      const run = { id, agentId: agent.id, tick: null, prompt: null, skillId, input, reason: null } as const
      yield* transaction.run(
        Effect.gen(function* () {
          if ((yield* runs.countSkillRunsInProgress(agent.id)) >= maximumSkillRunsInProgress)
            return yield* new SkillRunLimitReached({ limit: maximumSkillRunsInProgress })
          yield* runs.insert({ ...run, state: "waiting" })
          yield* outbox.append(SkillExecutionJob, { runId: id }, owner.id)
        })
      )
      return id
    })

    const find = Effect.fn("SkillRuns.find")(function* (agent: Agent, skillId: string, id: AgentRunId) {
      return yield* Effect.mapError(yield* runs.findOfSkill(agent.id, skillId, id), () => new AgentRunNotFound())
    })

    /** Ends a run in progress. A running tool finishes, but its result is dropped. Idempotent. */
    const cancel = Effect.fn("SkillRuns.cancel")(function* (agent: Agent, skillId: string, id: AgentRunId) {
      yield* find(agent, skillId, id)
      yield* runs.finish(id, makeRunTurnId(id), { state: "canceled", reason: "Canceled by the owner.", result: null })
      return yield* Effect.map(runs.findOfSkill(agent.id, skillId, id), Option.getOrThrow)
    })

    return { start, find, cancel, listTools: calls.list }
  })
}) {}
