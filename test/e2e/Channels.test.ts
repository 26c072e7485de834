import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import { Array, Effect } from "effect"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { eventually } from "../support/Eventually.ts"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { startBerth } from "./BerthProcess.ts"
import { makeChatSources } from "./ChatSources.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient } from "./WebClient.ts"

/* `npm run test:channels` sets these; the defaults are the short set of `npm test`. */
const setting = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise)
/** Number of bots of platformB and of platformC, in addition to one of platformA. */
const bots = setting("CHANNELS_BOTS", 1)
const chatsPerBot = setting("CHANNELS_CHATS", 2)
const kills = setting("CHANNELS_KILLS", 3)
const isLong = process.env["CHANNELS_BOTS"] !== undefined
/** Below the limits of received messages per chat and agent. */
const messagesPerChat = 10

const model = "openai/gpt-4o-mini"
const waitLimit = isLong ? "20 minutes" : "120 seconds"

it.scopedLive(
  "Messages of chats survive kills of the worker: none is lost, each causes one model call and is answered in order, repeats are counted",
  () =>
    Effect.gen(function* () {
      const address = { webUrl: "" }
      const { environment, sources } = yield* makeChatSources(() => address.webUrl, bots)
      const upstream = yield* makeFakeOpenAi()
      const databaseUrl = yield* migratedDatabase
      const berth = yield* startBerth({
        databaseUrl,
        environment: {
          ...environment,
          OPENAI_BASE_URL: upstream.baseUrl,
          OPENAI_API_KEY: upstream.apiKey,
          OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1"
        }
      })
      address.webUrl = berth.webUrl
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const person = yield* signUpClient(berth.webUrl)
        yield* Records.insertSubscription(person.userId, "enterprise")
        yield* sql`update users set plan = 'enterprise' where id = ${person.userId}`
        const connected = yield* Effect.forEach(sources, (source, bot) =>
          Effect.gen(function* () {
            const { id } = yield* person.provision(`Ada ${bot}`, model)
            yield* person.untilRunning(id)
            const body = { [source.platform]: source.channel }
            const answer = yield* person.raw("PUT", `/api/agents/${id}/channels`, { body })
            assert.strictEqual(answer.status, 200)
            yield* eventually(Effect.sync(source.isListening), (isListening) => isListening, {
              description: `connection ${bot}`,
              timeout: waitLimit
            })
            return { id, source }
          })
        )
        const chats = connected.flatMap(({ id, source }, bot) =>
          Array.makeBy(chatsPerBot, (index) => ({
            id,
            source,
            chatId: source.makeChatId(index + 1),
            // Unique in all requests to the model.
            texts: Array.makeBy(messagesPerChat, (place) => `message-${bot}-${index}-${place}-end`)
          }))
        )
        const total = chats.length * messagesPerChat
        const sentTo = ({ chatId, source }: (typeof chats)[number]) => source.sentTo(chatId)
        const countSent = Effect.sync(() => chats.flatMap(sentTo).length)

        const deliveries = yield* Effect.fork(
          Effect.forEach(Array.range(1, messagesPerChat), (place) =>
            Effect.forEach(
              chats,
              ({ chatId, id, source, texts }) => source.deliver(id, { chatId, place, text: texts[place - 1] ?? "" }),
              { concurrency: 4, discard: true }
            )
          )
        )
        for (const round of Array.range(1, kills)) {
          yield* eventually(countSent, (sent) => sent >= (total * round) / (kills + 2), {
            description: `answers before kill ${round}`,
            timeout: waitLimit
          })
          const { worker } = yield* berth.pids
          yield* Effect.ignore(Effect.try(() => process.kill(worker, "SIGKILL")))
          yield* eventually(berth.pids, (now) => now.worker !== worker && isProcessAlive(now.worker), {
            description: "another worker",
            timeout: waitLimit
          })
        }
        yield* deliveries
        const unfinished = sql`
          select count(*)::int as count from (
            select id from inbound_messages where status = 'waiting'
            union all select id from outbound_messages where status = 'pending'
          ) as open`
        yield* eventually(
          Effect.zip(unfinished, countSent),
          ([[open], sent]) => open?.["count"] === 0 && sent >= total,
          { description: "all answers", timeout: waitLimit }
        )

        const requested = upstream.received.flatMap(({ body }) => {
          const messages = memberAt(body, "messages")
          return Array.isArray(messages) ? [textOrEmpty(memberAt(messages.at(-1), "content"))] : []
        })
        const [counted] = yield* sql<{ repeats: number; parts: number }>`
          select sum(repeats)::int as repeats, sum(parts_sent)::int as parts from outbound_messages`
        const [begun] = yield* sql<{ unbegun: number }>`
          select sum(failed_turns)::int as unbegun from inbound_messages`
        const repeats = counted?.repeats ?? 0
        const sent = yield* countSent
        assert.strictEqual(counted?.parts, total)
        assert.isAtLeast(sent, total)
        assert.isAtMost(sent, total + repeats)
        const stored = yield* sql<{ agentId: string; chatId: string; contents: ReadonlyArray<string> }>`
          select agent_id, chat_id, json_agg(content order by seq) as contents
          from messages join channel_chats using (agent_id, session_id)
          where sender = 'user' and state = 'answered' group by 1, 2`
        for (const chat of chats) {
          const ofChat = new Set(chat.texts)
          assert.deepStrictEqual(
            requested.filter((text) => ofChat.has(text)),
            chat.texts
          )
          assert.deepStrictEqual(
            stored.find(({ agentId, chatId }) => agentId === chat.id && chatId === chat.chatId)?.contents,
            chat.texts
          )
          assert.deepStrictEqual(
            Array.dedupeAdjacent(sentTo(chat)),
            chat.texts.map((text) => `You said: ${text}`)
          )
        }
        yield* Effect.logInfo("Kills of the worker").pipe(
          Effect.annotateLogs({ total, kills, sent, repeats, unbegun: begun?.unbegun })
        )
      }).pipe(Effect.provide(Records.layer(databaseUrl)))
    }),
  { timeout: isLong ? 3_600_000 : 420_000 }
)
