import { LedgerAudit } from "@berth/domain/billing/units/LedgerAudit"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { TurnSettlement } from "@berth/domain/interaction/turns/TurnSettlement"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { recoverAbandonedTurns } from "@berth/worker/interaction/AbandonedTurnRecovery"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import { createOwnerWithAgent, type OwnerWithAgent } from "../contract/OwnerFixtures.ts"
import { findUsedUnits } from "../contract/TurnFixtures.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { noUsdMicros, Units, UsdMicros } from "@berth/domain/shared/Money"

const Live = TurnSettlement.Default.pipe(
  Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
  Layer.provideMerge(App.layer())
)

const paid = { own: false, promptMicros: UsdMicros(8_000), answerMicros: UsdMicros(60_000) }
const own = { own: true, promptMicros: noUsdMicros, answerMicros: noUsdMicros }

/** The writes of a turn in order; a process can crash after each one. */
const makeTurn = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const ledger = yield* UnitLedger
    const turns = yield* TurnRepository
    const conversations = yield* ConversationRepository
    const transaction = yield* Transaction
    const settlement = yield* TurnSettlement
    const { next } = yield* IdGenerator
    const id = MessageId.make(yield* next("msg"))
    const replyId = MessageId.make(yield* next("msg"))
    const turn = { userId: owner.user.id, agentId: owner.agent.id, turnId: id }
    const message = { id, sessionId: owner.conversation, content: "hello", topic: null, platform: "web" }
    const reply = { id: replyId, content: "fine", deltaCount: 1 }
    const leaseUntil = DateTime.subtract(yield* DateTime.now, { seconds: 1 })

    const accepted = Effect.flatten(conversations.findMessage(owner.user.id, id))
    const accept = Effect.flatMap(ledger.describeReservation(owner.user, Units(1), owner.agent.id), (payment) =>
      Effect.flatten(conversations.appendPaidMessage(message, { leaseUntil }, payment))
    )
    const beginCall = transaction.run(
      Effect.gen(function* () {
        const record = yield* Effect.flatten(turns.lock(turn))
        yield* ledger.extend(yield* record.reservation, Units(9))
        yield* turns.beginCall(turn, paid)
      })
    )
    const complete = transaction.run(
      Effect.zipRight(
        settlement.complete(id),
        Effect.flatMap(accepted, (found) => conversations.storeReply(found, reply))
      )
    )
    const completeAtOnce = Effect.flatMap(accepted, (found) =>
      conversations.completeTurn(found, reply, settlement.messagePrice)
    )
    return { owner, id, accept, beginCall, complete, completeAtOnce, turn }
  })

const steps = ["accepted", "called", "failed call", "answered call", "own call", "completed"] as const

/** Runs a turn up to a step, as a process that crashes after it. */
const runUpTo = (step: (typeof steps)[number]) =>
  Effect.gen(function* () {
    const made = yield* makeTurn(yield* createOwnerWithAgent())
    const { accept, beginCall, complete, turn } = made
    const turns = yield* TurnRepository
    yield* accept
    if (step === "own call") yield* turns.beginCall(turn, own)
    else if (step !== "accepted") yield* beginCall
    if (step === "failed call") yield* turns.endCall(turn, paid, "failed")
    if (step === "answered call" || step === "completed")
      yield* turns.endCall(turn, paid, { costMicros: UsdMicros(20_000) })
    if (step === "completed") yield* complete
    return made
  })

const expected = {
  accepted: { units: 0, state: "failed" },
  // The prompt of a call in progress: 10,400 micros with margin.
  called: { units: 2, state: "failed" },
  "failed call": { units: 0, state: "failed" },
  "answered call": { units: 3, state: "failed" },
  "own call": { units: 0, state: "failed" },
  completed: { units: 3, state: "answered" }
} as const

layer(Live, { excludeTestServices: true })("A turn whose process is killed", (it) => {
  for (const step of steps)
    it.effect(`A turn whose process is killed is settled once when it was ${step}, and its ledger balances`, () =>
      Effect.gen(function* () {
        const { id, owner } = yield* runUpTo(step)
        // Two workers concurrently, and a repetition.
        yield* Effect.replicateEffect(recoverAbandonedTurns, 3, { concurrency: "unbounded" })
        yield* recoverAbandonedTurns
        const { state, units } = expected[step]
        assert.strictEqual(yield* findUsedUnits(owner), Units(units))
        assert.deepStrictEqual(yield* sql`select state from messages where id = ${id}`, [{ state }])
        assert.deepStrictEqual(yield* sql`select id from turns where user_id = ${owner.user.id}`, [])
        assert.deepStrictEqual(
          yield* sql`select id from reservations where user_id = ${owner.user.id} and state = 'reserved'`,
          []
        )
        assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
      })
    )

  it.effect("A turn is settled once when its process continues and stores its reply late", () =>
    Effect.gen(function* () {
      const { complete, id, owner } = yield* runUpTo("answered call")
      const outcomes = yield* Effect.all([Effect.exit(complete), Effect.exit(recoverAbandonedTurns)], {
        concurrency: "unbounded"
      })
      assert.isTrue(outcomes.some(({ _tag }) => _tag === "Success"))
      yield* Effect.exit(complete)
      assert.strictEqual(yield* findUsedUnits(owner), 3)
      const replies = yield* sql`select id from messages where session_id = ${owner.conversation} and sender = 'agent'`
      const [message] = yield* sql`select state from messages where id = ${id}`
      assert.strictEqual(replies.length, message?.["state"] === "answered" ? 1 : 0)
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  it.effect("A turn whose process is killed does not deadlock with other turns of its owner", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const made = yield* Effect.replicateEffect(makeTurn(owner), 12)
      yield* Effect.forEach(
        made,
        ({ accept, beginCall, complete, turn }, at) =>
          Effect.gen(function* () {
            const turns = yield* TurnRepository
            yield* accept
            if (at % 3 === 0) return yield* recoverAbandonedTurns
            yield* turns.renewLeases([turn.turnId], DateTime.add(yield* DateTime.now, { minutes: 1 }))
            // Recovered before the renewal.
            yield* Effect.option(Effect.sandbox(beginCall))
            yield* turns.endCall(turn, paid, { costMicros: UsdMicros(20_000) })
            yield* complete
          }),
        { concurrency: "unbounded" }
      )
      yield* recoverAbandonedTurns
      assert.deepStrictEqual(
        yield* sql`select id from reservations where user_id = ${owner.user.id} and state = 'reserved'`,
        []
      )
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
      const [answered] = yield* sql<{ count: number }>`
        select count(*)::int as count from messages where user_id = ${owner.user.id} and sender = 'agent'`
      assert.strictEqual(yield* findUsedUnits(owner), 3 * (answered?.count ?? 0))
    })
  )
})

/** A call within the unit of the message. */
const small = { own: false, promptMicros: UsdMicros(100), answerMicros: UsdMicros(400) }

layer(Live, { excludeTestServices: true })("The end of a turn in one statement", (it) => {
  it.effect(
    "A turn that its message's unit covers is settled once with its reply, whoever ends it at the same time",
    () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { accept, completeAtOnce, id, turn } = yield* makeTurn(owner)
        const turns = yield* TurnRepository
        const message = yield* accept
        yield* turns.beginCall(turn, small)
        yield* turns.endCall(turn, small, { costMicros: UsdMicros(300) })
        yield* turns.beginCall(turn, small)
        const outcomes = yield* Effect.replicateEffect(completeAtOnce, 3, { concurrency: "unbounded" })
        const [reply, ...others] = outcomes.flatMap(Option.toArray)
        assert.lengthOf(others, 0)
        // The call in progress counts with its upper bound.
        assert.deepInclude(reply, { content: "fine", seq: 2, units: Units(1), costMicros: UsdMicros(800) })
        assert.deepInclude(message, { seq: 1, state: "pending" })
        assert.deepStrictEqual(yield* sql`select state, delta_count from messages where id = ${id}`, [
          { state: "answered", deltaCount: 1 }
        ])
        assert.deepStrictEqual(yield* sql`select message_count from chat_sessions where id = ${owner.conversation}`, [
          { messageCount: 2 }
        ])
        assert.deepStrictEqual(yield* sql`select id from turns where id = ${id}`, [])
        assert.deepStrictEqual(yield* sql`select state from reservations where cause = ${id}`, [{ state: "settled" }])
        assert.strictEqual(yield* findUsedUnits(owner), 1)
        assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
      })
  )

  it.effect("A turn whose conversation was deleted is not changed by the end in one statement", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { accept, id } = yield* makeTurn(owner)
      const { completeTurn, removeSession, storeReply } = yield* ConversationRepository
      const { complete, messagePrice } = yield* TurnSettlement
      const message = yield* accept
      const reply = { id: MessageId.make(`${id}r`), content: "fine" }
      yield* removeSession(owner.user.id, owner.conversation)
      assert.deepStrictEqual(yield* completeTurn(message, reply, messagePrice), Option.none())
      assert.deepStrictEqual(yield* sql`select state from reservations where cause = ${id}`, [{ state: "reserved" }])
      assert.isTrue(Option.isSome(yield* complete(id)))
      assert.deepStrictEqual(yield* storeReply(message, reply), Option.none())
      assert.strictEqual(yield* findUsedUnits(owner), 1)
      assert.deepStrictEqual(yield* (yield* LedgerAudit).findDiscrepancies, [])
    })
  )

  const others = {
    "cost more than its message's unit": paid,
    "were paid by the owner's key": own
  }
  for (const [difference, call] of Object.entries(others))
    it.effect(`A turn whose calls ${difference} is not changed by the end in one statement`, () =>
      Effect.gen(function* () {
        const owner = yield* createOwnerWithAgent()
        const { accept, completeAtOnce, id, turn } = yield* makeTurn(owner)
        const turns = yield* TurnRepository
        yield* accept
        yield* turns.beginCall(turn, call)
        assert.deepStrictEqual(yield* completeAtOnce, Option.none())
        assert.deepStrictEqual(yield* sql`select state from messages where id = ${id}`, [{ state: "pending" }])
        assert.deepStrictEqual(yield* sql`select id from turns where id = ${id}`, [{ id }])
        assert.deepStrictEqual(yield* sql`select state from reservations where cause = ${id}`, [{ state: "reserved" }])
      })
    )

  it.effect("A turn with more units reserved than its price is not changed by the end in one statement", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { accept, beginCall, completeAtOnce, id, turn } = yield* makeTurn(owner)
      const turns = yield* TurnRepository
      yield* accept
      yield* beginCall
      yield* turns.endCall(turn, paid, "failed")
      assert.deepStrictEqual(yield* completeAtOnce, Option.none())
      assert.deepStrictEqual(yield* sql`select id from turns where id = ${id}`, [{ id }])
    })
  )
})
