import type { Agent } from "@berth/domain/agents/Agent"
import type { User } from "@berth/domain/shared/User"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { runtimeModelPath } from "@berth/api/runtime/RuntimeContract"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import type { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { DateTime, Effect, Option, Redacted, Stream } from "effect"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import { uniqueName } from "../support/Samples.ts"
import * as App from "../support/TestApp.ts"
import type { OwnerWithAgent } from "./OwnerFixtures.ts"
import { Units } from "@berth/domain/shared/Money"

/** Paid by the owner's OpenAI key if there is one; the other is always paid by the platform. */
export const ownModel = "openai/gpt-4"
export const platformModel = "anthropic/claude-opus-4-6"

export const deliverChannelMessage = (
  { agent, user }: OwnerWithAgent,
  content: {
    readonly sessionId: string
    readonly messageId: string
    readonly fromOwner: boolean
    readonly message: string
  }
) =>
  Effect.flatMap(App.TestApp, ({ backend, internalKey }) =>
    backend({
      method: "POST",
      path: "/internal/channel-turns",
      headers: { authorization: `Bearer ${internalKey}` },
      json: { userId: user.id, agentId: agent.id, platform: "platformA", ...content }
    })
  )

/** A model call of a runtime. `messageId` and `agentId` are those of the turn unless given. */
export interface RuntimeCall {
  readonly model: string
  readonly messageId?: string
  readonly agentId?: string
  readonly maxTokens?: number
}

export const inTaskTurn = <A, E, R>(
  { user, agent }: { readonly user: Pick<User, "id">; readonly agent: Pick<Agent, "id"> },
  use: (messageId: string) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const turns = yield* TurnRepository
    const turnId = yield* (yield* IdGenerator).next("tsk")
    const leaseUntil = DateTime.add(yield* DateTime.now, { minutes: 1 })
    const payment = { reservation: Option.none(), ownKeysOnly: false }
    return yield* Effect.acquireUseRelease(
      turns.begin({ userId: user.id, agentId: agent.id, turnId }, payment, leaseUntil),
      () => use(turnId),
      () => turns.end(turnId)
    )
  })

export const makeRuntimeCalls = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const instances = yield* InstanceRepository
    yield* instances.ensure(owner.user.id, makeSubdomain(owner.user.id))
    const token = Redacted.value(yield* instances.ensureRuntimeToken(owner.user.id))
    const { backend } = yield* App.TestApp
    return (
      turn: Pick<Turn, "agentId" | "messageId" | "message">,
      { agentId = turn.agentId, maxTokens, messageId = turn.messageId, model }: RuntimeCall
    ) =>
      backend({
        method: "POST",
        path: runtimeModelPath,
        headers: { authorization: `Bearer ${token}` },
        json: {
          agentId,
          messageId,
          model,
          messages: [{ role: "user", content: turn.message }],
          tools: [],
          temperature: null,
          maxTokens: maxTokens ?? null
        }
      })
  })

export const doneEvent: TurnEvent = { type: "done", reply: "fine", model: "m", provider: "p" }

export const findUsedUnits = ({ user }: Pick<OwnerWithAgent, "user">) =>
  Effect.flatMap(UnitLedger, ({ findUsage }) => Effect.map(findUsage(user), ({ used }) => used))

export const sendMessage = (owner: OwnerWithAgent, message = "hello", agentId: string = owner.agent.id) =>
  App.web({ method: "POST", path: "/api/agent", as: owner, json: { message, agentId } })

export const leaveUnits = (owner: Pick<OwnerWithAgent, "user">, units: number) =>
  Effect.gen(function* () {
    const { findUsage, reserve } = yield* UnitLedger
    const { remaining } = yield* findUsage(owner.user)
    yield* reserve(owner.user, Units(remaining - units), yield* uniqueName("spent"))
  })

/** Sends a message whose runtime makes the calls in order and then answers. Returns its units and all responses. */
export const runTurn = (owner: OwnerWithAgent, calls: (turn: Turn) => ReadonlyArray<RuntimeCall>) =>
  Effect.gen(function* () {
    const call = yield* makeRuntimeCalls(owner)
    const { withBehavior } = yield* AgentManagerTest
    const before = yield* findUsedUnits(owner)
    const responses: Array<HttpCallResponse> = []
    const answer = yield* sendMessage(owner).pipe(
      withBehavior({
        chat: (_, turn) =>
          Stream.concat(
            Stream.execute(
              Effect.forEach(calls(turn), (made) =>
                Effect.map(call(turn, made), (response) => responses.push(response))
              )
            ),
            Stream.make(doneEvent)
          )
      })
    )
    return { answer, responses, units: (yield* findUsedUnits(owner)) - before }
  })
