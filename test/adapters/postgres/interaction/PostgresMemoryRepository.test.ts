import { type Agent } from "@berth/domain/agents/Agent"
import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { type ChatSessionId, MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { MemoryRepository } from "@berth/domain/interaction/memory/MemoryRepository"
import { NoteId } from "@berth/domain/interaction/memory/Recollection"
import * as PostgresAgentRepository from "@berth/infra/postgres/agents/PostgresAgentRepository"
import * as PostgresConversationRepository from "@berth/infra/postgres/interaction/PostgresConversationRepository"
import * as PostgresMemoryRepository from "@berth/infra/postgres/interaction/PostgresMemoryRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, FastCheck, Layer, Option, TestClock, TestContext } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertAgent, insertChatSession, insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const Live = Layer.mergeAll(
  PostgresMemoryRepository.layer,
  PostgresConversationRepository.layer,
  PostgresAgentRepository.layer,
  PostgresUserRepository.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const newYear = DateTime.unsafeMake(Date.UTC(2026, 0, 1))
const day = (n: number) => DateTime.add(newYear, { days: n })
/** Runs an effect at this time. */
const on =
  (n: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.zipRight(TestClock.setTime(day(n).epochMillis), effect)

const ownedAgent = Effect.flatMap(insertUser(), ({ id }) => insertAgent(id))
const of = (agent: Agent) => ({ agentId: agent.id, userId: agent.ownerId })

const openSession = (agent: Agent) => Effect.map(insertChatSession(agent), ({ id }) => id)

const ask = (sessionId: ChatSessionId, content: string) =>
  Effect.gen(function* () {
    const { appendUserMessage } = yield* ConversationRepository
    const id = MessageId.make(yield* (yield* IdGenerator).next("msg"))
    const leaseUntil = DateTime.add(yield* DateTime.now, { minutes: 1 })
    return yield* appendUserMessage(
      { id, sessionId, content, topic: null, platform: "web" },
      { leaseUntil, reservation: Option.none(), ownKeysOnly: false }
    )
  })

const say = (sessionId: ChatSessionId, content: string, reply = "noted") =>
  Effect.gen(function* () {
    const { storeReply } = yield* ConversationRepository
    const id = MessageId.make(yield* (yield* IdGenerator).next("msg"))
    const message = yield* ask(sessionId, content)
    yield* storeReply(message, { id, content: reply })
    return message
  })

const note = (agent: Agent, text: string, limit = 500) =>
  Effect.gen(function* () {
    const { saveNote } = yield* MemoryRepository
    const id = NoteId.make(yield* (yield* IdGenerator).next("nte"))
    return yield* saveNote({ ...of(agent), id, text, at: yield* DateTime.now }, limit)
  })

const found = (agent: Agent, query: string, limit = 10) =>
  Effect.flatMap(MemoryRepository, ({ search }) => search(of(agent), query, limit)).pipe(
    Effect.map((recollections) => recollections.map(({ text }) => text))
  )

const turnOf = (sessionId: ChatSessionId, content: string, limits = { notes: 20, messages: 5 }) =>
  Effect.gen(function* () {
    const { recallForTurn } = yield* MemoryRepository
    const { notes, messages, summary } = yield* recallForTurn(yield* ask(sessionId, content), {
      ...limits,
      history: 10
    })
    return { notes: notes.map(({ text }) => text), messages: messages.map(({ text }) => text), summary }
  })

/** A statement, and a question in other words of the same language, among other texts of that language. */
const languages: ReadonlyArray<readonly [string, string, string, string]> = [
  [
    "English",
    "My dogs are called Rex and Rover.",
    "What is the name of my dog?",
    "The weather is fine and what is new?"
  ],
  ["German", "Meine Schwester heißt Gisela.", "Wie heißt denn meine SCHWESTER?", "Wie ist das Wetter für morgen?"],
  ["French", "J’habite à Besançon.", "À quelle distance est besancon ?", "Quelle heure est-il à la gare ?"],
  ["Spanish", "Mi cumpleaños es el 5 de mayo.", "¿Cuándo es mi cumpleaños?", "El tren es el de las cinco."],
  ["Russian", "Мою собаку зовут Шарик.", "Как зовут мою СОБАКУ?", "Какая сегодня погода?"],
  ["Turkish", "En sevdiğim yemek mantı.", "sevdiğim yemek ne?", "Bugün hava nasıl?"],
  ["Greek", "Το αγαπημένο μου χρώμα είναι μπλε.", "Ποιο χρώμα μου αρέσει;", "Τι ώρα φεύγει το τρένο;"],
  ["Hindi", "मेरा पसंदीदा रंग नीला है", "कौन सा रंग", "आज मौसम कैसा"],
  ["Arabic", "لوني المفضل هو الأزرق.", "ما هو لوني المفضل؟", "كيف الطقس اليوم؟"],
  ["Hebrew", "הצבע האהוב עליי הוא כחול.", "מה הצבע?", "מתי יוצאת הרכבת?"],
  ["Chinese", "我最喜欢喝绿茶。", "我喜欢什么茶？绿茶吗", "今天天气怎么样"],
  ["Japanese", "犬の名前はポチです。", "犬の名前は何ですか", "明日の天気を教えて"],
  ["Korean", "우리 강아지 이름은 초코예요.", "강아지는 뭐라고 불러?", "오늘 날씨 어때"],
  ["Thai", "ฉันชอบกินข้าวเหนียวมะม่วง", "ข้าวเหนียว", "วันนี้อากาศดี"]
]

layer(Live, { excludeTestServices: true })("MemoryRepository", (it) => {
  // The first test, since the planner has no statistics of the new database.
  it.effect("MemoryRepository reads no more than the newest messages, before the planner knows the agent's", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      yield* sql`
        insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
        select 'msg_' || ${session} || n, ${session}, ${agent.ownerId}, ${agent.id}, n, 'user', 'ahoy', 'web', 'answered',
          ${DateTime.toDate(newYear)}::timestamptz + n * interval '1 minute'
        from generate_series(1, 4000) as n`
      const readFetched = Effect.map(
        sql<{ fetched: number }>`
          select idx_tup_fetch::integer as fetched from pg_stat_xact_user_tables where relname = 'messages'`,
        ([row]) => row?.fetched ?? 0
      )
      const countFetched = Effect.gen(function* () {
        const before = yield* readFetched
        yield* sql`select from newest_messages(${agent.id}, 200)`
        return (yield* readFetched) - before
      })
      const { withTransaction } = yield* SqlClient
      assert.strictEqual(yield* withTransaction(countFetched), 200)
    })
  )

  for (const [language, text, question, other] of languages)
    it.effect(`MemoryRepository finds texts in ${language}, in notes, in a search and at a turn`, () =>
      Effect.gen(function* () {
        const [agent, noting] = [yield* ownedAgent, yield* ownedAgent]
        const [session, later] = [yield* openSession(agent), yield* openSession(agent)]
        yield* say(session, text, "👍")
        yield* say(session, other, "👍")
        yield* note(noting, other)
        yield* note(noting, text)
        assert.strictEqual((yield* found(agent, question))[0], text)
        assert.strictEqual((yield* found(noting, question))[0], text)
        assert.strictEqual((yield* turnOf(later, question)).messages[0], text)
      })
    )

  it.effect("MemoryRepository ranks by matching words, then newer first, and a note before a message", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      yield* on(0)(say(session, "The boat is red."))
      yield* on(90)(say(session, "The boat is wet from yesterday's rain."))
      yield* on(1)(say(session, "The boat in Lisbon harbor is for sale."))
      assert.deepStrictEqual(yield* on(91)(found(agent, "Where in Lisbon harbor was that boat?")), [
        "The boat in Lisbon harbor is for sale.",
        "The boat is wet from yesterday's rain.",
        "The boat is red."
      ])
      yield* on(90)(note(agent, "The boat is old."))
      assert.strictEqual((yield* on(91)(found(agent, "boat")))[0], "The boat is old.")
      assert.lengthOf(yield* found(agent, "boat", 2), 2)
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("MemoryRepository finds answered messages, and no pending or failed ones", () =>
    Effect.gen(function* () {
      const { markFailed } = yield* ConversationRepository
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      yield* say(session, "a blue kettle", "your kettle, blue")
      yield* markFailed((yield* ask(session, "a broken kettle")).id)
      yield* ask(session, "a waiting kettle")
      assert.sameMembers([...(yield* found(agent, "kettle"))], ["a blue kettle", "your kettle, blue"])
      const later = yield* openSession(agent)
      const { messages } = yield* turnOf(later, "kettle?")
      assert.sameMembers([...messages], ["a blue kettle", "your kettle, blue"])
    })
  )

  it.effect("MemoryRepository returns messages of other sessions at a turn, and none for stop words", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const [session, later] = [yield* openSession(agent), yield* openSession(agent)]
      yield* say(session, "What is this? It is how you are doing the thing.", "ok")
      yield* say(later, "The thing is here.", "ok")
      assert.deepStrictEqual((yield* turnOf(later, "Which thing?")).messages, [
        "What is this? It is how you are doing the thing."
      ])
      for (const empty of ["How are you? What is it?", "", "?!", "a b c"])
        assert.deepStrictEqual((yield* turnOf(later, empty)).messages, [], empty)
      // An explicit search falls back to words without meaning.
      assert.include(yield* found(agent, "how are you"), "What is this? It is how you are doing the thing.")
    })
  )

  it.effect("MemoryRepository gives a turn the newest notes, newest first, whatever the message", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      for (const n of [1, 2, 3, 4]) yield* on(n)(note(agent, `note ${n}`))
      assert.deepStrictEqual((yield* turnOf(session, "hello", { notes: 3, messages: 5 })).notes, [
        "note 4",
        "note 3",
        "note 2"
      ])
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("MemoryRepository keeps a text once with its latest time, and drops the oldest", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      const kept = Effect.map(turnOf(session, "", { notes: 100, messages: 0 }), ({ notes }) => notes)
      for (const n of [1, 2, 3]) yield* on(n)(note(agent, `note ${n}`, 3))
      yield* on(4)(note(agent, "note 1", 3))
      yield* on(5)(note(agent, "note 5", 3))
      assert.deepStrictEqual(yield* kept, ["note 5", "note 1", "note 3"])
      const long = "word ".repeat(400)
      yield* on(6)(Effect.all([note(agent, `${long}a`), note(agent, `${long}b`), note(agent, `${long}a`)]))
      assert.lengthOf(yield* kept, 5)
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("MemoryRepository keeps exactly the allowed number of concurrent notes", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      yield* Effect.forEach(Array.from({ length: 30 }), (_, n) => note(agent, `note ${n % 20}`, 10), {
        concurrency: "unbounded"
      })
      const { notes } = yield* turnOf(session, "", { notes: 100, messages: 0 })
      assert.lengthOf(notes, 10)
      assert.strictEqual(new Set(notes).size, 10)
    })
  )

  it.effect("MemoryRepository keeps no note for an unknown agent or another owner's", () =>
    Effect.gen(function* () {
      const { saveNote } = yield* MemoryRepository
      const [agent, stranger] = [yield* ownedAgent, yield* ownedAgent]
      const at = yield* DateTime.now
      yield* saveNote({ agentId: agent.id, userId: stranger.ownerId, id: NoteId.make("nte_1"), text: "mine", at }, 500)
      yield* (yield* AgentRepository).remove(stranger.id)
      yield* note(stranger, "gone")
      assert.deepStrictEqual(yield* sql`select id from agent_notes where text in ('mine', 'gone')`, [])
    })
  )

  it.effect("MemoryRepository keeps the summary that covers the most messages, and deletes it with its session", () =>
    Effect.gen(function* () {
      const { saveSummary } = yield* MemoryRepository
      const { removeSessions } = yield* ConversationRepository
      const agent = yield* ownedAgent
      const [session, other] = [yield* openSession(agent), yield* openSession(agent)]
      const summary = Effect.map(turnOf(session, ""), (turn) => turn.summary)
      assert.deepStrictEqual(yield* summary, Option.none())
      const writes = [4, 12, 8, 12, 2].map((upToSeq) => saveSummary(session, { text: `up to ${upToSeq}`, upToSeq }))
      yield* Effect.all(writes, { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* summary, Option.some({ text: "up to 12", upToSeq: 12 }))
      yield* saveSummary(session, { text: "the same again", upToSeq: 12 })
      assert.deepStrictEqual(yield* summary, Option.some({ text: "up to 12", upToSeq: 12 }))
      assert.deepStrictEqual((yield* turnOf(other, "")).summary, Option.none())
      yield* removeSessions(agent.ownerId)
      yield* saveSummary(session, { text: "too late", upToSeq: 20 })
      assert.deepStrictEqual(yield* sql`select from session_summaries where session_id = ${session}`, [])
    })
  )

  it.effect("MemoryRepository deletes with the agent, and a user's notes on request", () =>
    Effect.gen(function* () {
      const { removeNotes } = yield* MemoryRepository
      const agent = yield* ownedAgent
      const [sibling, stranger] = [yield* insertAgent(agent.ownerId), yield* ownedAgent]
      for (const each of [agent, sibling, stranger]) yield* note(each, "a green umbrella")
      yield* (yield* AgentRepository).remove(agent.id)
      assert.deepStrictEqual(yield* found(agent, "umbrella"), [])
      assert.lengthOf(yield* found(sibling, "umbrella"), 1)
      yield* removeNotes(agent.ownerId)
      assert.deepStrictEqual(yield* found(sibling, "umbrella"), [])
      assert.lengthOf(yield* found(stranger, "umbrella"), 1)
    })
  )

  it.effect("MemoryRepository never finds texts of another agent or owner", () =>
    Effect.gen(function* () {
      const { recallForTurn, search } = yield* MemoryRepository
      const mine = yield* ownedAgent
      const [sibling, stranger] = [yield* insertAgent(mine.ownerId), yield* ownedAgent]
      // Texts that name another agent, in case an id counts as a word.
      const texts = [
        "apple pear",
        `apple ${mine.id}`,
        `pear ${sibling.id} ${stranger.id}`,
        "绿茶 apple",
        "it's \\ a 'pear'"
      ]
      for (const agent of [mine, sibling, stranger]) {
        const session = yield* openSession(agent)
        for (const text of texts) {
          yield* say(session, `${agent.id}: ${text}`, `${agent.id}: ${text}`)
          yield* note(agent, `${agent.id}: ${text}`)
        }
      }
      const session = yield* openSession(mine)
      const hostile = [
        "apple' | 'pear",
        `'${stranger.id}'`,
        stranger.id,
        `${stranger.id} | apple`,
        "'); drop table messages; --",
        "!apple",
        "apple & !pear",
        "apple <-> pear",
        "apple:* | pear:ABCD",
        "\\",
        "''",
        "* % _ $1",
        "\u0000\uD800",
        "apple ".repeat(5_000)
      ]
      const query = FastCheck.oneof(
        FastCheck.constantFrom(...hostile),
        FastCheck.string({ unit: "binary" }),
        FastCheck.array(
          FastCheck.constantFrom("apple", "pear", "绿茶", "'", "|", "&", "!", "(", ")", ":*", "<->", "\\", stranger.id)
        ).map((parts) => parts.join(" "))
      )
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(query, async (question) => {
            const matches = await Effect.runPromise(
              Effect.all([
                search(of(mine), question, 1_000),
                Effect.map(
                  recallForTurn(
                    { ...of(mine), sessionId: session, content: question },
                    { notes: 9, messages: 99, history: 9 }
                  ),
                  (turn) => [...turn.notes, ...turn.messages]
                )
              ])
            )
            for (const { text } of matches.flat()) assert.isTrue(text.startsWith(`${mine.id}: `), text)
          }),
          { numRuns: 200, examples: hostile.map((text) => [text]) }
        )
      )
      assert.lengthOf(yield* search(of(mine), "apple pear", 1_000), 15)
      // An agent under another owner's id has no results, nor has an unknown id.
      assert.deepStrictEqual(yield* search({ agentId: stranger.id, userId: mine.ownerId }, "apple", 10), [])
      for (const agentId of ["", "' | '", "agt_' || 'x", "\\", "\u0000", `${stranger.id}' | '${stranger.id}`])
        assert.deepStrictEqual(yield* search({ agentId: AgentId.make(agentId), userId: mine.ownerId }, "apple", 10), [])
    })
  )

  it.effect("MemoryRepository finds rare old texts and the latest common ones among thousands", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      yield* sql`
        insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
        select 'msg_' || ${session} || n, ${session}, ${agent.ownerId}, ${agent.id}, 1000 + n, 'user',
          'the tide is high ' || case when n = 3 then 'and the anchor is lost' else '' end, 'web', 'answered',
          ${DateTime.toDate(newYear)}::timestamptz + n * interval '1 minute'
        from generate_series(1, 7000) as n`
      assert.deepStrictEqual(yield* found(agent, "Where is the anchor?"), ["the tide is high and the anchor is lost"])
      assert.lengthOf(yield* found(agent, "How was the tide?"), 10)
      const { search } = yield* MemoryRepository
      const [newest] = yield* search(of(agent), "tide", 1)
      assert.deepStrictEqual(newest?.at, DateTime.add(newYear, { minutes: 7_000 }))
      const later = yield* openSession(agent)
      assert.lengthOf((yield* turnOf(later, "And the tide?")).messages, 5)
      assert.lengthOf((yield* turnOf(later, "And the anchor?")).messages, 1)
      assert.include(
        (yield* turnOf(later, "And the anchor in high tide?")).messages,
        "the tide is high and the anchor is lost"
      )
      assert.lengthOf((yield* turnOf(session, "And the tide?")).messages, 0)
    })
  )

  it.effect("MemoryRepository recalls at a turn what ranks best of all messages of other sessions, for any texts", () =>
    Effect.gen(function* () {
      const words = ["tide", "anchor", "boats", "boat", "the", "für", "犬の名前", "👍"]
      const text = FastCheck.array(FastCheck.constantFrom(...words), { maxLength: 5 }).map((chosen) => chosen.join(" "))
      const texts = FastCheck.array(text, { maxLength: 80, size: "max" })
      const cases = FastCheck.sample(FastCheck.tuple(texts, FastCheck.array(text, { minLength: 3, maxLength: 3 })), 15)
      for (const [contents, questions] of cases) {
        const agent = yield* ownedAgent
        const [session, current] = [yield* openSession(agent), yield* openSession(agent)]
        yield* sql`
          insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
          select 'msg_' || ${session} || n, case n % 4 when 0 then ${current} else ${session} end, ${agent.ownerId},
            ${agent.id}, n, 'user', said, 'web', 'answered',
            ${DateTime.toDate(newYear)}::timestamptz + n * interval '4 days'
          from jsonb_array_elements_text(${JSON.stringify(contents)}::jsonb) with ordinality as texts (said, n)`
        for (const question of questions) {
          const now = DateTime.toDate(yield* DateTime.now)
          const best = yield* sql`
            select content from messages, recall_query(${question}, false) as words
            where agent_id = ${agent.id} and session_id = ${session} and search @@ words
            order by ts_rank(search, words, 1)
              * (1 + 1 / (1 + greatest(0, extract(epoch from ${now}::timestamptz - created_at)) / 2592000.0)) desc,
              created_at desc
            limit 5`
          assert.deepStrictEqual(
            (yield* turnOf(current, question)).messages,
            best.map(({ content }) => content)
          )
        }
      }
    })
  )

  it.effect("MemoryRepository stores and finds texts of every length and script", () =>
    Effect.gen(function* () {
      const agent = yield* ownedAgent
      const session = yield* openSession(agent)
      const range = (from: number, length: number) =>
        Array.from({ length }, (_, n) => String.fromCodePoint(from + (n % 20_000)))
      const texts = [
        range(0x4e00, 100_000).join(""),
        range(0x20000, 50_000).join(""),
        range(0x10400, 50_000).join(" "),
        "\uFDFA".repeat(100_000),
        Array.from({ length: 100_000 / 8 }, (_, n) => `w${n.toString(36)}-x`).join(" "),
        "a".repeat(100_000),
        `https://example.com/${"a/".repeat(40_000)}`,
        "e\u0301".repeat(50_000)
      ]
      for (const text of texts) yield* say(session, text, text)
      yield* say(session, "一丁丂七丄 w1-x")
      assert.strictEqual((yield* found(agent, "w1-x", 1))[0], "一丁丂七丄 w1-x")
      assert.isNotEmpty(yield* found(agent, "丁丂"))
      const other = yield* openSession(agent)
      for (const text of texts) yield* turnOf(other, text)
    })
  )
})
