import { runtimeA2aPath } from "@berth/api/runtime/RuntimeContract"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { Effect, Redacted, Stream } from "effect"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { insertAgent } from "../support/Samples.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

/** The span of the running turn, as a runtime passes it on. */
const currentTraceParent = Effect.map(Effect.currentSpan, ({ spanId, traceId }) => ({
  traceparent: `00-${traceId}-${spanId}-01`
}))

/** A call of the skill `a2a-send` by the runtime of the agent's owner, in a turn. Returns its text, or the reason of its failure. */
export const callInTurn = (owner: OwnerWithAgent, messageId: string, call: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const token = Redacted.value(yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id))
    const trace = yield* Effect.orElseSucceed(currentTraceParent, () => ({}))
    const { body, text } = yield* App.backend({
      method: "POST",
      path: runtimeA2aPath,
      headers: { ...trace, authorization: `Bearer ${token}` },
      json: { agentId: owner.agent.id, messageId, call }
    })
    const { message, text: answer } = body
    return typeof answer === "string" ? answer : typeof message === "string" ? message : text
  })

type AgentScript<R> = (turn: Turn, traceId: string) => Effect.Effect<string, never, R>

/** Runs an effect while agents answer by their scripts; those without one echo. */
export const withScripts =
  <R2>(scripts: ReadonlyMap<string, AgentScript<R2>>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const { withBehavior } = yield* AgentManagerTest
      const context = yield* Effect.context<R2>()
      return yield* effect.pipe(
        withBehavior({
          chat: (_, turn) =>
            Stream.fromEffect(
              Effect.gen(function* () {
                const traceId = yield* Effect.match(Effect.currentSpan, {
                  onFailure: () => "",
                  onSuccess: (span) => span.traceId
                })
                const script = scripts.get(turn.agentId)
                const reply =
                  script === undefined ? `Echo: ${turn.message}` : yield* Effect.provide(script(turn, traceId), context)
                return { type: "done", reply, model: "m" } satisfies TurnEvent
              })
            )
        })
      )
    })

export const createSender = Effect.tap(createOwnerWithAgent(), enableSending)

export const addAgent = (owner: OwnerWithAgent, name: string) =>
  Effect.map(insertAgent(owner.user.id, { name }), (agent) => ({ ...owner, agent })).pipe(Effect.tap(enableSending))

function enableSending({ agent }: OwnerWithAgent) {
  return sql`update agents set config = jsonb_set(config, '{skills}', '["a2a-send", "calculator"]') where id = ${agent.id}`
}
