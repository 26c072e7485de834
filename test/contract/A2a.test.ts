import { maximumInProgress } from "@berth/domain/a2a/A2aMessage"
import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { maximumInFlightPerOwner, Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert, layer } from "@effect/vitest"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { Turn } from "@berth/domain/instances/AgentRuntime"
import { Context, Effect, Fiber, Layer, Schema, Stream } from "effect"
import * as A2aWorker from "../support/A2aWorker.ts"
import { a2aMessageHandler } from "@berth/worker/jobs/JobHandlers"
import * as BackgroundJobs from "@berth/worker/jobs/BackgroundJobs"
import { eventually } from "../support/Eventually.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent, exhaustUnits, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { addAgent, callInTurn, createSender, withScripts } from "./AgentTurns.ts"
import { findUsedUnits, makeRuntimeCalls, platformModel, sendMessage } from "./TurnFixtures.ts"

const envelope = (from: OwnerWithAgent, to: OwnerWithAgent, changes: Readonly<Record<string, unknown>> = {}) => ({
  version: "1.0",
  messageId: "m1",
  timestamp: "2026-03-01T12:00:00Z",
  from: from.agent.id,
  to: to.agent.id,
  mode: "notify",
  payload: "hello",
  ...changes
})

const post = (as: OwnerWithAgent, to: string, json: unknown) =>
  App.web({ method: "POST", path: `/api/a2a/${to}/messages`, as, json })
const send = (from: OwnerWithAgent, to: OwnerWithAgent, changes: Readonly<Record<string, unknown>> = {}) =>
  post(from, to.agent.id, envelope(from, to, changes))

const converse = (from: OwnerWithAgent, to: OwnerWithAgent, changes: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const sending = yield* Effect.fork(send(from, to, changes))
    const work = Effect.zipRight(A2aWorker.deliverMessages, Fiber.poll(sending))
    yield* eventually(work, ({ _tag }) => _tag === "Some")
    return yield* Fiber.join(sending)
  })

const agentCall = (owner: OwnerWithAgent, method: string, path: string, json?: unknown) =>
  App.web({
    method,
    path: `/api/agents/${owner.agent.id}/a2a${path}`,
    as: owner,
    ...(json === undefined ? {} : { json })
  })
const allow = (receiver: OwnerWithAgent, ...senders: ReadonlyArray<string>) =>
  agentCall(receiver, "PUT", "/allow", { allow: senders })

/** Two owners with agents that may send, and that allow each other. */
const senders = Effect.gen(function* () {
  const [alice, bob] = [yield* createSender, yield* createSender]
  yield* allow(bob, alice.user.id)
  yield* allow(alice, bob.user.id)
  return { alice, bob }
})

const Log = Schema.Struct({
  messages: Schema.Array(
    Schema.Struct({
      status: Schema.String,
      chainId: Schema.String,
      chain: Schema.Struct({ depth: Schema.Int, path: Schema.Array(Schema.String) }),
      budgetUnits: Schema.NullOr(Schema.Int),
      usedUnits: Schema.NullOr(Schema.Int)
    })
  )
})
const decodeLog = Schema.decodeUnknown(Log)

/** Two owners; the second allows the first one's agent. */
const pair = Effect.gen(function* () {
  const [alice, bob] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
  yield* allow(bob, alice.agent.id)
  return { alice, bob }
})

layer(A2aWorker.layer, { excludeTestServices: true })("Messages between agents", (it) => {
  it.effect("A repeated request returns the first reply with its time, and is charged once", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const before = yield* findUsedUnits(bob)
      const first = yield* converse(alice, bob, { mode: "request" })
      const repeated = yield* send(alice, bob, { mode: "request" })
      assert.deepStrictEqual([repeated.status, repeated.body], [200, first.body])
      assert.strictEqual(yield* findUsedUnits(bob), before + 1)
    })
  )

  it.effect("A request returns the receiver's reply, charged to the receiver's owner, and both logs show it", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const before = [yield* findUsedUnits(alice), yield* findUsedUnits(bob)]
      const answer = yield* converse(alice, bob, { mode: "request" })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(answer.body, { messageId: "m1", status: "answered", reason: null })
      assert.include(answer.text, "hello")
      assert.deepInclude(answer.body["reply"], { from: bob.agent.id, to: alice.agent.id, replyTo: "m1" })
      const after = [yield* findUsedUnits(alice), yield* findUsedUnits(bob)]
      assert.deepStrictEqual(after, [before[0], (before[1] ?? 0) + 1])
      for (const [owner, direction] of [
        [alice, "outbound"],
        [bob, "inbound"]
      ] as const) {
        const { body, text } = yield* agentCall(owner, "GET", "/messages")
        assert.strictEqual(body["total"], 1, text)
        assert.include(text, `"direction":"${direction}"`)
      }
    })
  )

  it.effect(
    "A notification is accepted at once and reaches the receiver once, however often it is sent and delivered",
    () =>
      Effect.gen(function* () {
        const { alice, bob } = yield* pair
        const { calls } = yield* AgentManagerTest
        const before = (yield* calls).length
        const answers = yield* Effect.replicateEffect(send(alice, bob), 4, { concurrency: 4 })
        for (const { body, status } of answers)
          assert.deepStrictEqual([status, body], [202, { messageId: "m1", status: "accepted" }])
        const entries = yield* A2aWorker.deliverMessages
        assert.lengthOf(entries, 1)
        // The worker was killed between the turn and the outcome.
        yield* sql`
        update a2a_messages set status = 'waiting', ended_at = null, reply = null where to_agent = ${bob.agent.id}`
        yield* Effect.forEach([...entries, ...entries], (entry) =>
          a2aMessageHandler.handle({ ...entry, attempt: 2, isLastAttempt: false })
        )
        const turns = (yield* calls).slice(before).filter(({ target }) => target === bob.user.id)
        assert.lengthOf(turns, 1)
        assert.include((yield* agentCall(bob, "GET", "/messages")).text, '"status":"answered"')
        const other = yield* send(alice, bob, { payload: "other" })
        assert.deepInclude(other.body, { code: "a2a_message_conflict" })
      })
  )

  it.effect("A message whose worker dies or stops in the turn is answered once, by another worker", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const used = yield* findUsedUnits(bob)
      const answer = yield* Effect.makeLatch(false)
      let requested = 0
      const script = () =>
        Effect.suspend(() => {
          requested += 1
          return Effect.as(answer.await, "done")
        })
      yield* send(alice, bob)
      const [entry] = yield* A2aWorker.takeMessages
      if (entry === undefined) return assert.fail("no job")
      const run = a2aMessageHandler.handle({ ...entry, attempt: 5, isLastAttempt: true })
      const begin = Effect.gen(function* () {
        const worker = yield* Layer.build(BackgroundJobs.layer({ handOver: "1 milli" }))
        for (let runs = 0; runs < 2; runs++)
          assert.strictEqual((yield* Effect.flip(Effect.provide(run, worker)))._tag, "JobPostponed")
        yield* eventually(
          Effect.sync(() => requested),
          (count) => count === 1
        )
        return Context.get(worker, BackgroundJobs.BackgroundJobs)
      })
      const log = Effect.map(agentCall(bob, "GET", "/messages"), ({ text }) => text)
      yield* Effect.gen(function* () {
        yield* Effect.scoped(begin)
        yield* Effect.scoped(Effect.flatMap(begin, ({ drain }) => drain(0)))
        assert.include(yield* log, '"status":"waiting"')
        const last = yield* Effect.fork(run)
        yield* answer.open
        yield* Fiber.join(last)
      }).pipe(withScripts(new Map([[bob.agent.id, script]])))
      assert.include(yield* log, '"status":"answered"')
      assert.deepStrictEqual([requested, yield* findUsedUnits(bob)], [1, used + 1])
    })
  )

  it.effect("An agent that does not allow the sender answers as one that does not exist", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const stranger = yield* createOwnerWithAgent()
      const unknown = yield* post(stranger, "agt_0", { ...envelope(stranger, bob), to: "agt_0" })
      const refused = yield* send(stranger, bob)
      assert.strictEqual(refused.status, 404)
      assert.deepStrictEqual(withoutTraceId(refused), withoutTraceId(unknown))
      yield* allow(bob, alice.agent.id, stranger.user.id)
      assert.strictEqual((yield* send(stranger, bob)).status, 202)
      yield* allow(bob)
      assert.strictEqual((yield* send(alice, bob)).status, 404)
      assert.deepStrictEqual((yield* agentCall(bob, "GET", "/allow")).body, { allow: [] })
    })
  )

  it.effect("A sender is one of the caller's agents, by session, API key of the scope chat, or gateway token", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const forged = yield* post(bob, bob.agent.id, envelope(alice, bob))
      assert.deepInclude([forged.status, forged.body["code"]], "a2a_sender_not_owned")
      const { key } = yield* createApiKey(alice, "chat")
      const byKey = yield* App.web({
        method: "POST",
        path: `/api/a2a/${bob.agent.id}/messages`,
        headers: { authorization: `Bearer ${key}` },
        json: envelope(alice, bob)
      })
      assert.strictEqual(byKey.status, 202, byKey.text)
      const tokenOf = (owner: OwnerWithAgent) =>
        Effect.map(App.web({ method: "GET", path: `/api/instance/${owner.user.id}/token`, as: owner }), ({ body }) =>
          String(body["token"])
        )
      const byToken = (token: string, json: unknown) =>
        App.web({
          method: "POST",
          path: `/api/a2a/${bob.agent.id}/messages`,
          headers: { authorization: `Bearer ${token}` },
          json
        })
      const unknown = yield* byToken("x".repeat(43), envelope(bob, alice))
      assert.strictEqual(unknown.status, 401)
      assert.deepStrictEqual(
        yield* sql`select gateway_token_sealed from instances where owner_id = ${bob.user.id}`,
        [{ gatewayTokenSealed: null }],
        "A check creates no token."
      )
      const sent = yield* byToken(yield* tokenOf(alice), envelope(alice, bob, { messageId: "m2" }))
      assert.deepStrictEqual([sent.status, sent.body], [202, { messageId: "m2", status: "accepted" }])
      const token = yield* tokenOf(bob)
      for (const json of [envelope(alice, bob, { messageId: "m3" }), {}, []])
        assert.strictEqual((yield* byToken(token, json)).status, 401)
    })
  )

  it.effect("A delegation runs an offered skill and returns the rest of its budget; others are refused", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const delegate = (changes: Readonly<Record<string, unknown>> = {}) => ({
        mode: "delegate",
        skill: "calculator",
        payload: { tool: "calculate", arguments: { expression: "6*7" } },
        delegation: { depth: 1, path: [alice.agent.id], budgetUnits: 3 },
        ...changes
      })
      const path = `/api/agents/${bob.agent.id}/config`
      yield* App.web({ method: "PUT", path, as: bob, json: { skills: ["calculator"] } })
      const notOffered = yield* send(alice, bob, delegate())
      assert.deepInclude(notOffered.body, { code: "offered_skill_not_found" })
      assert.strictEqual((yield* agentCall(bob, "PUT", "/skills", { skills: ["none"] })).status, 404)
      yield* agentCall(bob, "PUT", "/skills", { skills: ["calculator"] })
      assert.deepStrictEqual((yield* agentCall(bob, "GET", "/skills")).body, { skills: ["calculator"] })
      const before = yield* findUsedUnits(bob)
      const done = yield* converse(alice, bob, delegate())
      assert.deepInclude(done.body, { status: "answered" })
      assert.deepInclude(done.body["reply"], {
        delegation: { depth: 2, path: [alice.agent.id, bob.agent.id], budgetUnits: 2 }
      })
      assert.strictEqual((yield* findUsedUnits(bob)) - before, 1)
      for (const [code, changes] of [
        ["delegation_refused", { delegation: { depth: 1, path: [alice.agent.id], budgetUnits: 0 } }],
        ["delegation_refused", { delegation: { depth: 2, path: [bob.agent.id, alice.agent.id], budgetUnits: 9 } }],
        ["a2a_message_invalid", { delegation: undefined }],
        ["offered_skill_not_found", { payload: { tool: "shell" } }],
        ["offered_skill_not_found", { payload: "text" }]
      ] as const)
        assert.deepInclude((yield* send(alice, bob, delegate({ messageId: "m2", ...changes }))).body, { code })
    })
  )

  it.effect(
    "A chain through three agents of two owners is one trace and keeps its budget, whatever the models answer",
    () =>
      Effect.gen(function* () {
        const { alice, bob } = yield* senders
        const other = yield* addAgent(alice, "other")
        yield* allow(other, bob.agent.id)
        const traces = new Set<string>()
        const delegate = (from: OwnerWithAgent, { messageId }: Turn, to: OwnerWithAgent, more: object) =>
          callInTurn(from, messageId, { action: "send", mode: "delegate", to: to.agent.id, message: "work", ...more })
        const scripts = new Map([
          [
            alice.agent.id,
            (turn: Turn, trace: string) => {
              traces.add(trace)
              return delegate(alice, turn, bob, { budgetUnits: 6 })
            }
          ],
          [
            bob.agent.id,
            (turn: Turn, trace: string) =>
              Effect.gen(function* () {
                traces.add(trace)
                return [
                  // The model's values for depth, path and sender are ignored.
                  yield* delegate(bob, turn, alice, { budgetUnits: 1, depth: 0, path: [], from: other.agent.id }),
                  yield* delegate(bob, turn, other, { budgetUnits: 6 }),
                  yield* delegate(bob, turn, other, { budgetUnits: 3 })
                ].join("|")
              })
          ],
          [
            other.agent.id,
            (turn: Turn, trace: string) => {
              traces.add(trace)
              return delegate(other, turn, bob, { budgetUnits: 1 })
            }
          ]
        ])
        const traceId = "0af7651916cd43dd8448eb211c80319c"
        const answer = yield* App.web({
          method: "POST",
          path: "/api/agent",
          as: alice,
          headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
          json: { message: "go", agentId: alice.agent.id }
        }).pipe(withScripts(scripts), A2aWorker.whileDelivering)
        assert.strictEqual(answer.status, 200, answer.text)
        assert.deepStrictEqual([...traces], [traceId])
        const loops = answer.text.match(/The chain of messages is a loop/g)
        assert.lengthOf(loops ?? [], 2, answer.text)
        assert.include(answer.text, "more units than the budget has left")
        const { body } = yield* agentCall(bob, "GET", "/messages")
        const log = yield* decodeLog(body)
        assert.deepStrictEqual(
          log.messages.map(({ budgetUnits, chain, status, usedUnits }) => [status, chain, budgetUnits, usedUnits]),
          [
            ["answered", { depth: 2, path: [alice.agent.id, bob.agent.id] }, 3, 1],
            ["answered", { depth: 1, path: [alice.agent.id] }, 6, 2]
          ]
        )
        assert.lengthOf([...new Set(log.messages.map(({ chainId }) => chainId))], 1)
      })
  )

  it.effect("Concurrent delegations of one turn share its budget, and unused units return to it", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* senders
      const others = yield* Effect.forEach([1, 2, 3, 4, 5, 6], (index) => addAgent(bob, `other ${index}`))
      // The others answer after all delegations are decided, so that no unit returns earlier.
      const decided = yield* Effect.makeLatch(false)
      const run = (turn: Turn) =>
        Effect.gen(function* () {
          let refused = 0
          const delegate = (to: OwnerWithAgent) =>
            callInTurn(bob, turn.messageId, {
              action: "send",
              mode: "delegate",
              to: to.agent.id,
              message: "work",
              budgetUnits: 2
            }).pipe(
              Effect.map((reply) => reply.startsWith("Reply")),
              Effect.tap((isAnswered) => {
                if (!isAnswered) refused += 1
                return refused === 4 ? decided.open : Effect.void
              })
            )
          const first = yield* Effect.forEach(others, delegate, { concurrency: "unbounded" })
          // Each has used one of its two units, so that two of the four return.
          const second = yield* Effect.forEach(others, delegate, { concurrency: "unbounded" })
          return [first, second].map((replies) => replies.filter(Boolean).length).join(" ")
        })
      const scripts = new Map([
        [bob.agent.id, run],
        ...others.map(({ agent }) => [agent.id, () => Effect.as(decided.await, "done")] as const)
      ])
      const done = yield* send(alice, bob, {
        mode: "delegate",
        delegation: { depth: 1, path: [alice.agent.id], budgetUnits: 5 }
      }).pipe(withScripts(scripts), A2aWorker.whileDelivering)
      assert.deepInclude(done.body["reply"], {
        payload: "2 1",
        delegation: { depth: 2, path: [alice.agent.id, bob.agent.id], budgetUnits: 1 }
      })
    })
  )

  it.effect("A delegation to a model never costs more than its budget", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const statuses: Array<number> = []
      const call = yield* makeRuntimeCalls(bob)
      const run = (turn: Turn) =>
        Effect.gen(function* () {
          for (let index = 0; index < 3; index += 1)
            statuses.push((yield* call(turn, { model: platformModel, maxTokens: 1000 })).status)
          return "done"
        })
      const { withBehavior } = yield* ModelProvidersTest
      const before = yield* findUsedUnits(bob)
      const delegation = { depth: 1, path: [alice.agent.id], budgetUnits: 3 }
      const done = yield* send(alice, bob, { mode: "delegate", delegation }).pipe(
        withScripts(new Map([[bob.agent.id, run]])),
        // The provider reports far more than was requested.
        withBehavior({
          chat: () =>
            Stream.make<[ModelEvent<ProviderEnding>]>({
              type: "done",
              usage: { promptTokens: 90_000, completionTokens: 9_000, totalTokens: 99_000 },
              finishReason: "stop"
            })
        }),
        A2aWorker.whileDelivering
      )
      assert.deepInclude(done.body, { status: "answered" })
      assert.deepStrictEqual(statuses, [200, 402, 402])
      assert.strictEqual((yield* findUsedUnits(bob)) - before, 3)
    })
  )

  it.effect("A chain has at most five levels and 64 messages, and agents send only with the skill", () =>
    Effect.gen(function* () {
      const owner = yield* createSender
      const chain = [
        owner,
        ...(yield* Effect.forEach([1, 2, 3, 4, 5, 6], (index) => addAgent(owner, `agent ${index}`)))
      ]
      const scripts = new Map(
        chain.flatMap((from, index) => {
          const to = chain[index + 1]
          if (to === undefined) return []
          const call = { action: "send", mode: "request", to: to.agent.id, message: "pass on" }
          return [[from.agent.id, ({ messageId }: Turn) => callInTurn(from, messageId, call)] as const]
        })
      )
      const long = yield* sendMessage(owner).pipe(withScripts(scripts), A2aWorker.whileDelivering)
      assert.include(long.text, "at most 5 levels")
      const [, second, third] = chain
      if (second === undefined || third === undefined) return assert.fail("no agents")
      const bomb = ({ messageId }: Turn) =>
        Effect.zipRight(
          Effect.orDie(sql`update a2a_messages set chain_messages = 64 where to_agent = ${second.agent.id}`),
          callInTurn(second, messageId, { action: "send", mode: "notify", to: third.agent.id, message: "x" })
        )
      const bombed = yield* converse(owner, second, { mode: "request" }).pipe(
        withScripts(new Map([[second.agent.id, bomb]]))
      )
      assert.include(bombed.text, "A chain has at most 64 messages")
      yield* sql`update agents set config = jsonb_set(config, '{skills}', '[]') where id = ${second.agent.id}`
      const call = { action: "list_agents" }
      const without = yield* converse(owner, second, { mode: "request", messageId: "m2" }).pipe(
        withScripts(new Map([[second.agent.id, ({ messageId }: Turn) => callInTurn(second, messageId, call)]]))
      )
      assert.include(without.text, "has not enabled the skill")
    })
  )

  it.effect("An urgent message does not wait behind the others of its receiver's owner", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const outbox = yield* Outbox
      yield* Effect.forEach([1, 2, 3, 4, 5, 6], (index) => send(alice, bob, { messageId: `normal-${index}` }))
      assert.strictEqual((yield* send(alice, bob, { messageId: "urgent", priority: "high" })).status, 202)
      const taken: Array<OutboxEntry> = []
      yield* outbox.relay(100, (entry) => Effect.sync(() => taken.push(entry)))
      const [urgent] =
        yield* sql`select id from a2a_messages where from_agent = ${alice.agent.id} and message_id = 'urgent'`
      const payloads = taken.map(({ payload }) => payload)
      assert.deepInclude(payloads, { id: urgent?.["id"] })
      assert.lengthOf(payloads, maximumInFlightPerOwner + 1)
      yield* Effect.forEach(taken, ({ id }) => outbox.settle(id), { discard: true })
      yield* A2aWorker.deliverMessages
    })
  )

  it.effect("Urgent messages to the agents of an owner take turns", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const outbox = yield* Outbox
      yield* Effect.forEach([1, 2, 3, 4, 5, 6], (index) =>
        send(alice, bob, { messageId: `urgent-${index}`, priority: "high" })
      )
      const taken: Array<OutboxEntry> = []
      yield* outbox.relay(100, (entry) => Effect.sync(() => taken.push(entry)))
      assert.lengthOf(taken, maximumInFlightPerOwner)
      yield* Effect.forEach(taken, ({ id }) => outbox.settle(id), { discard: true })
      yield* A2aWorker.deliverMessages
    })
  )

  it.effect("A message by the gateway token of an instance continues the chain of the message being answered", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* senders
      const token = String(
        (yield* App.web({ method: "GET", path: `/api/instance/${bob.user.id}/token`, as: bob })).body["token"]
      )
      const back = () =>
        Effect.map(
          App.web({
            method: "POST",
            path: `/api/a2a/${alice.agent.id}/messages`,
            headers: { authorization: `Bearer ${token}` },
            json: envelope(bob, alice)
          }),
          ({ body }) => String(body["code"])
        )
      const scripts = withScripts(new Map([[bob.agent.id, back]]))
      const answer = yield* converse(alice, bob, { mode: "request" }).pipe(scripts)
      assert.include(answer.text, "delegation_refused")
      // Outside of an answer the chain begins with the sender.
      assert.strictEqual(yield* back(), "undefined")
    })
  )

  it.effect("An agent lists and names those that it may write to, and others do not exist for it", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* senders
      const [stranger, helper] = [yield* createSender, yield* addAgent(alice, "helper")]
      const impostor = yield* addAgent(bob, "helper")
      yield* agentCall({ ...bob, agent: impostor.agent }, "PUT", "/allow", { allow: [alice.user.id] })
      yield* agentCall(bob, "PUT", "/skills", { skills: ["calculator"] })
      const run = ({ messageId }: Turn) =>
        Effect.gen(function* () {
          const call = (to: string, more: object = {}) =>
            callInTurn(alice, messageId, { action: "send", mode: "request", to, message: "hello", ...more })
          return [
            yield* callInTurn(alice, messageId, { action: "list_agents" }),
            yield* call("helper"),
            yield* call(stranger.agent.id),
            yield* call(bob.agent.id, {
              mode: "delegate",
              skill: "calculator",
              tool: "calculate",
              arguments: { expression: "6*7" }
            })
          ].join("\n")
        })
      const { text } = yield* sendMessage(alice).pipe(
        withScripts(new Map([[alice.agent.id, run]])),
        A2aWorker.whileDelivering
      )
      assert.include(text, `\\"helper\\", id ${helper.agent.id}`)
      assert.include(text, `id ${bob.agent.id}, of another owner, offers the skills calculator`)
      assert.include(text, `id ${impostor.agent.id}, of another owner`)
      assert.notInclude(text, `id ${stranger.agent.id}`)
      assert.include(text, `Reply of \\"helper\\" (${helper.agent.id})`)
      assert.include(text, "There is no such agent, or it does not take messages of this agent.")
      assert.include(text, `Reply of \\"agent\\" (${bob.agent.id})`)
    })
  )

  it.effect("Messages that are expired, too long, to the sender itself or to another address are refused", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      for (const changes of [
        { expiresAt: "2020-01-01T00:00:00Z" },
        { payload: "x".repeat(20_000) },
        { skill: "calculator" },
        { to: alice.agent.id }
      ])
        assert.deepInclude((yield* send(alice, bob, changes)).body, { code: "a2a_message_invalid" })
      const itself = yield* post(alice, alice.agent.id, envelope(alice, alice))
      assert.deepInclude(itself.body, { code: "a2a_message_invalid" })
      assert.deepInclude((yield* send(alice, bob, { version: "2.0", messageId: "" })).body, { code: "invalid_request" })
      assert.strictEqual((yield* send(alice, bob, { expiresAt: "2100-01-01T00:00:00Z" })).status, 202)
      yield* sql`
        update a2a_messages set expires_at = '2020-01-01T00:00:00.000Z'
        where to_agent = ${bob.agent.id}`
      yield* A2aWorker.deliverMessages
      assert.include((yield* agentCall(bob, "GET", "/messages")).text, '"status":"expired"')
    })
  )

  it.effect("A receiver without units or a running agent refuses, and a sender has a limited number in progress", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      yield* exhaustUnits(bob)
      // Another owner receives no information about the account.
      assert.deepInclude((yield* converse(alice, bob, { mode: "request" })).body, {
        status: "refused",
        reply: null,
        reason: "The agent does not take messages at the moment."
      })
      assert.include((yield* agentCall(bob, "GET", "/messages")).text, "No units were left.")
      assert.notInclude((yield* agentCall(alice, "GET", "/messages")).text, "No units were left.")
      yield* sql`update agents set status = 'stopped' where id = ${bob.agent.id}`
      const stopped = yield* converse(alice, bob, { mode: "request", messageId: "m2" })
      assert.deepInclude(stopped.body, { status: "refused" })
      const statuses = yield* Effect.forEach(
        Array.from({ length: maximumInProgress.sender + 4 }, (_, index) => `flood-${index}`),
        (messageId) => Effect.map(send(alice, bob, { messageId }), ({ status }) => status),
        { concurrency: 8 }
      )
      assert.lengthOf(
        statuses.filter((status) => status === 202),
        maximumInProgress.sender
      )
      assert.lengthOf(
        statuses.filter((status) => status === 429),
        4
      )
    })
  )

  it.effect("Messages whose jobs were lost end after a day and make room for others of their sender", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* pair
      const { failLost } = yield* A2aDelivery
      yield* Effect.forEach(Array.from({ length: maximumInProgress.sender }).keys(), (index) =>
        send(alice, bob, { messageId: `lost-${index}` })
      )
      yield* failLost()
      assert.strictEqual((yield* send(alice, bob, { messageId: "next" })).status, 429)
      yield* sql`update a2a_messages set created_at = now() - interval '25 hours' where to_agent = ${bob.agent.id}`
      yield* failLost()
      assert.strictEqual((yield* send(alice, bob, { messageId: "next" })).status, 202)
      assert.include((yield* agentCall(bob, "GET", "/messages")).text, "The job of the message was lost.")
    })
  )

  it.effect("The budget of a message whose job was lost returns once to the turn that sent it", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* senders
      const other = yield* addAgent(bob, "other")
      const { failLost } = yield* A2aDelivery
      const run = ({ messageId }: Turn) =>
        Effect.gen(function* () {
          const limit = Effect.map(Effect.orDie(sql`select unit_limit from turns where id = ${messageId}`), ([row]) =>
            Number(row?.["unitLimit"])
          )
          const before = yield* limit
          yield* callInTurn(bob, messageId, { action: "send", mode: "notify", to: other.agent.id, message: "work" })
          const shared = yield* limit
          yield* Effect.orDie(
            sql`update a2a_messages set created_at = now() - interval '25 hours' where to_agent = ${other.agent.id}`
          )
          yield* Effect.replicateEffect(failLost(), 3, { concurrency: "unbounded" })
          return [before, shared, yield* limit].join(" ")
        })
      yield* send(alice, bob, {
        mode: "delegate",
        delegation: { depth: 1, path: [alice.agent.id], budgetUnits: 4 },
        messageId: "m1"
      }).pipe(
        Effect.fork,
        Effect.flatMap((sending) =>
          Effect.gen(function* () {
            yield* eventually(
              Effect.zipRight(A2aWorker.deliverMessages, Fiber.poll(sending)),
              ({ _tag }) => _tag === "Some"
            )
            const { body } = yield* Fiber.join(sending)
            assert.deepInclude(body["reply"], { payload: "4 2 4" })
          })
        ),
        withScripts(new Map([[bob.agent.id, run]]))
      )
    })
  )
})
