import { runtimeWalletPath } from "@berth/api/runtime/RuntimeContract"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert } from "@effect/vitest"
import { Deferred, Effect, Redacted, Stream } from "effect"
import * as App from "../support/TestApp.ts"
import type { OwnerWithAgent } from "./OwnerFixtures.ts"

export const callWallet = (owner: OwnerWithAgent, messageId: string, call: unknown) =>
  Effect.gen(function* () {
    const token = Redacted.value(yield* (yield* InstanceRepository).ensureRuntimeToken(owner.user.id))
    return yield* App.backend({
      method: "POST",
      path: runtimeWalletPath,
      headers: { authorization: `Bearer ${token}` },
      json: { agentId: owner.agent.id, messageId, call }
    })
  })

export const inOwnerTurn = <A, E, R>(owner: OwnerWithAgent, use: (messageId: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { withBehavior } = yield* AgentManagerTest
    const context = yield* Effect.context<R>()
    const done = yield* Deferred.make<A, E>()
    const answered = yield* withBehavior({
      chat: (_, { messageId }) =>
        Stream.unwrap(
          Effect.as(
            Deferred.complete(done, Effect.provide(use(messageId), context)),
            Stream.make<[TurnEvent]>({ type: "done", reply: "fine", model: "m" })
          )
        )
    })(
      App.web({
        method: "POST",
        path: "/api/agent",
        as: owner,
        json: { message: "pay", sessionId: owner.conversation }
      })
    )
    assert.strictEqual(answered.status, 200, answered.text)
    return yield* Deferred.await(done)
  })

/** Runs each call in a separate turn; returns the status and the text or message of the responses. */
export const payInTurn = (owner: OwnerWithAgent, ...calls: ReadonlyArray<unknown>) =>
  inOwnerTurn(owner, (messageId) =>
    Effect.forEach(calls, (call) =>
      Effect.map(
        callWallet(owner, messageId, call),
        ({ body, status }) => [status, String(body["text"] ?? body["message"])] as const
      )
    )
  )

export const setLimits = (owner: OwnerWithAgent, json: unknown) =>
  App.web({ method: "PUT", path: `/api/agents/${owner.agent.id}/wallet-limits`, as: owner, json })

export const readPayments = (owner: OwnerWithAgent) =>
  App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/wallet-payments`, as: owner })

export const decidePayment = (owner: OwnerWithAgent, paymentId: unknown, action: string) =>
  App.web({
    method: "POST",
    path: `/api/agents/${owner.agent.id}/wallet-payments`,
    as: owner,
    json: { paymentId, action }
  })
