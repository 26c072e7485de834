import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { AnswerDelta } from "@berth/domain/interaction/answers/AnswerEvent"
import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresAnswerStreams from "@berth/infra/postgres/interaction/PostgresAnswerStreams"
import * as PostgresConversationRepository from "@berth/infra/postgres/interaction/PostgresConversationRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { Context, DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertChatSession, insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { eventually } from "../../../support/Eventually.ts"

class OtherProcess extends Context.Tag("@berth/test/AnswerStreamsElsewhere")<
  OtherProcess,
  Context.Tag.Service<AnswerStreams>
>() {}

const Live = Layer.mergeAll(
  PostgresAnswerStreams.layer,
  Layer.map(Layer.fresh(PostgresAnswerStreams.layer), (context) =>
    Context.make(OtherProcess, Context.get(context, AnswerStreams))
  ),
  PostgresConversationRepository.layer,
  PostgresAgentRepository.layer,
  PostgresUserRepository.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const leaseUntil = DateTime.unsafeMake(Date.UTC(2099, 0, 1))

const pendingMessage = Effect.gen(function* () {
  const { appendUserMessage } = yield* ConversationRepository
  const { next } = yield* IdGenerator
  const user = yield* insertUser()
  const agent = yield* insertAgent(user.id)
  const session = yield* insertChatSession(agent)
  return yield* appendUserMessage(
    {
      id: MessageId.make(yield* next("msg")),
      sessionId: session.id,
      content: "hello",
      topic: null,
      platform: "web"
    },
    { leaseUntil, reservation: Option.none(), ownKeysOnly: false }
  )
})

const numbered = (texts: ReadonlyArray<string>, from = 1): ReadonlyArray<AnswerDelta> =>
  texts.map((text, index) => ({ type: "delta", n: from + index, text }))

const publish = (id: MessageId, pieces: ReadonlyArray<AnswerDelta>) =>
  Effect.map(AnswerStreams, ({ append }) => append(id, pieces))

const later = (minutes: number) => Effect.map(DateTime.now, DateTime.add({ minutes }))

layer(Live, { excludeTestServices: true })("AnswerStreams", (it) => {
  it.effect("AnswerStreams.read returns the deltas of another process behind any number, without a flush", () =>
    Effect.gen(function* () {
      const elsewhere = yield* OtherProcess
      const { id } = yield* pendingMessage
      const first = numbered(["Once ", "upon "])
      yield* publish(id, first)
      yield* eventually(elsewhere.read(id, 0), ({ deltas }) => deltas.length === 2)
      const second = numbered(["a ", "time"], 3)
      yield* publish(id, second)
      const all = [...first, ...second]
      yield* eventually(elsewhere.read(id, 0), ({ deltas }) => deltas.length === 4)
      for (const after of [0, 1, 2, 3, 4, 9])
        assert.deepStrictEqual(yield* elsewhere.read(id, after), {
          deltas: all.slice(after),
          state: { state: "pending" }
        })
    })
  )

  it.effect("AnswerStreams.flush writes all deltas of its answer, also of many answers at once", () =>
    Effect.gen(function* () {
      const { flush } = yield* AnswerStreams
      const elsewhere = yield* OtherProcess
      const messages = yield* Effect.replicateEffect(pendingMessage, 6, { concurrency: 3 })
      yield* Effect.forEach(
        messages,
        ({ id }) =>
          Effect.gen(function* () {
            const pieces = numbered(Array.from({ length: 450 }, (_, n) => `${id} ${n} `))
            yield* publish(id, pieces)
            yield* flush(id)
            assert.deepStrictEqual((yield* elsewhere.read(id, 0)).deltas, pieces)
            assert.deepStrictEqual((yield* elsewhere.read(id, 449)).deltas, pieces.slice(449))
          }),
        { concurrency: "unbounded" }
      )
    })
  )

  it.effect("AnswerStreams.append stores every text unchanged: U+0000, quotes, half a surrogate pair", () =>
    Effect.gen(function* () {
      const { flush, read } = yield* AnswerStreams
      const { id } = yield* pendingMessage
      const pieces = numbered(["\u0000", "\"'\\", "\uD83E", "\uDD8A", "", "\n\r\u2028"])
      yield* publish(id, pieces)
      yield* flush(id)
      assert.deepStrictEqual((yield* read(id, 0)).deltas, pieces)
    })
  )

  it.effect("AnswerStreams.read returns the end of an answer, and gone for an unknown one", () =>
    Effect.gen(function* () {
      const { read } = yield* AnswerStreams
      const { storeReply, markFailed, removeSessions } = yield* ConversationRepository
      const [answered, failed, abandoned] = yield* Effect.all([pendingMessage, pendingMessage, pendingMessage])
      const { next } = yield* IdGenerator
      const reply = { id: MessageId.make(yield* next("msg")), content: "hi", deltaCount: 3 }
      const stored = Option.getOrThrow(yield* storeReply(answered, reply))
      yield* markFailed(failed.id, { reason: "the model said no", deltaCount: 2, callBegun: true })
      yield* markFailed(abandoned.id)
      assert.deepStrictEqual((yield* read(answered.id, 0)).state, { state: "answered", deltaCount: 3, reply: stored })
      assert.deepStrictEqual((yield* read(failed.id, 0)).state, {
        state: "failed",
        deltaCount: 2,
        reason: "the model said no"
      })
      assert.deepStrictEqual((yield* read(abandoned.id, 0)).state, {
        state: "failed",
        deltaCount: null,
        reason: "the process that worked on it has ended"
      })
      // A reply has no answer.
      for (const id of [stored.id, MessageId.make("msg_none"), MessageId.make("msg_\u0000")])
        assert.deepStrictEqual(yield* read(id, 0), { deltas: [], state: { state: "gone" } })
      yield* removeSessions(answered.userId)
      assert.deepStrictEqual(yield* read(answered.id, 0), { deltas: [], state: { state: "gone" } })
    })
  )

  it.effect("AnswerStreams.read returns no delta behind a missing one", () =>
    Effect.gen(function* () {
      const { flush, read } = yield* AnswerStreams
      const { id } = yield* pendingMessage
      yield* publish(id, [...numbered(["a", "b"]), ...numbered(["d", "e"], 4)])
      yield* flush(id)
      assert.deepStrictEqual((yield* read(id, 0)).deltas, numbered(["a", "b"]))
      assert.deepStrictEqual((yield* read(id, 2)).deltas, [])
      assert.deepStrictEqual((yield* read(id, 3)).deltas, numbered(["d", "e"], 4))
    })
  )

  it.effect("AnswerStreams.append loses and repeats no delta while the database fails for a moment", () =>
    Effect.gen(function* () {
      const { flush, read } = yield* AnswerStreams
      const { id } = yield* pendingMessage
      yield* publish(id, numbered(["a"]))
      yield* flush(id)
      yield* sql`alter table answer_events rename to hidden`
      yield* publish(id, numbered(["b"], 2))
      yield* flush(id)
      yield* publish(id, numbered(["c"], 3))
      yield* sql`alter table hidden rename to answer_events`
      yield* eventually(read(id, 0), ({ deltas }) => deltas.length === 3)
      assert.deepStrictEqual((yield* read(id, 0)).deltas, numbered(["a", "b", "c"]))
    })
  )

  it.effect("AnswerStreams.prune deletes all deltas of an ended answer after its retention period", () =>
    Effect.gen(function* () {
      const { flush, prune, read } = yield* AnswerStreams
      const { storeReply } = yield* ConversationRepository
      const { next } = yield* IdGenerator
      const [ended, waiting] = yield* Effect.all([pendingMessage, pendingMessage])
      const pieces = numbered(["a", "b"])
      for (const { id } of [ended, waiting]) {
        yield* publish(id, pieces)
        yield* flush(id)
      }
      const reply = Option.getOrThrow(
        yield* storeReply(ended, { id: MessageId.make(yield* next("msg")), content: "ab", deltaCount: 2 })
      )
      yield* prune(yield* later(-1))
      assert.deepStrictEqual((yield* read(ended.id, 0)).deltas, pieces)
      yield* publish(ended.id, numbered(["late"], 3))
      yield* flush(ended.id)
      yield* sql`
        update answer_events set created_at = created_at - interval '1 hour' where message_id = ${ended.id} and first_delta = 1`
      yield* prune(yield* later(-1))
      assert.lengthOf((yield* read(ended.id, 0)).deltas, 3)
      yield* prune(yield* later(1))
      assert.deepStrictEqual(yield* read(ended.id, 0), {
        deltas: [],
        state: { state: "answered", deltaCount: 2, reply }
      })
      assert.deepStrictEqual((yield* read(waiting.id, 0)).deltas, pieces)
    })
  )

  it.effect("AnswerStreams.flush writes an answer although the database rejects deltas of another", () =>
    Effect.gen(function* () {
      const { flush, read } = yield* AnswerStreams
      const [good, bad] = yield* Effect.all([pendingMessage, pendingMessage])
      // A check constraint requires numbers from 1.
      yield* publish(bad.id, numbered(["rejected"], 0))
      yield* publish(good.id, numbered(["a", "b"]))
      yield* flush(good.id)
      assert.deepStrictEqual((yield* read(good.id, 0)).deltas, numbered(["a", "b"]))
      yield* publish(bad.id, numbered(["c"]))
      yield* flush(bad.id)
      assert.deepStrictEqual((yield* read(bad.id, 0)).deltas, numbered(["c"]))
    })
  )
})
