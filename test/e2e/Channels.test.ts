import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import { Array, Effect, Redacted } from "effect"
import { makeFakeTelegram } from "../fakes/channels/FakeTelegram.ts"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { eventually } from "../support/Eventually.ts"
import { startBerth } from "./BerthProcess.ts"
import { memberAt, textOrEmpty } from "./MainJobSteps.ts"
import { readProcessEnvironment } from "./RuntimeProcesses.ts"
import * as Records from "./ServiceDatabase.ts"
import { signUpClient } from "./WebClient.ts"

const model = "openai/gpt-4o-mini"
const chats = 6
const messagesPerChat = 10
const kills = 3
const waitLimit = "120 seconds"

/** Unique in all requests to the model. */
const textOf = (chat: number, place: number) => `message-${chat}-${place}-end`

it.scopedLive(
  "Messages of chats survive kills of the worker: none is lost, each is asked once and answered in order, repeats are counted",
  () =>
    Effect.gen(function* () {
      const telegram = yield* makeFakeTelegram
      const upstream = yield* makeFakeOpenAi()
      const berth = yield* startBerth({
        environment: {
          PLATFORM_A_API_URL: telegram.url.href,
          OPENAI_BASE_URL: upstream.baseUrl,
          OPENAI_API_KEY: upstream.apiKey,
          OPENROUTER_BASE_URL: "http://127.0.0.1:9/api/v1"
        }
      })
      const { server } = yield* berth.pids
      const [, databaseUrl = ""] = /(?:^|\0)DATABASE_URL=([^\0]+)/.exec(yield* readProcessEnvironment(server)) ?? []
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const person = yield* signUpClient(berth.webUrl)
        yield* Records.insertSubscription(person.userId, "pro")
        yield* sql`update users set plan = 'pro' where id = ${person.userId}`
        const { id } = yield* person.provision("Ada", model)
        yield* person.untilRunning(id)
        const connected = yield* person.raw("PUT", `/api/agents/${id}/channels`, {
          body: { platformA: { token: telegram.token } }
        })
        assert.strictEqual(connected.status, 200)

        for (const place of Array.range(1, messagesPerChat))
          for (const chat of Array.range(1, chats))
            telegram.addUpdate({
              message: {
                message_id: place * 100 + chat,
                date: 1_800_000_000,
                chat: { id: chat, type: "private" },
                from: { id: chat, is_bot: false, first_name: "Ada" },
                text: textOf(chat, place)
              }
            })

        const total = chats * messagesPerChat
        for (const round of Array.range(1, kills)) {
          yield* eventually(
            Effect.sync(() => telegram.sent().length),
            (sent) => sent >= (total * round) / (kills + 2),
            { description: `answers before kill ${round}`, timeout: waitLimit }
          )
          const { worker } = yield* berth.pids
          yield* Effect.ignore(Effect.try(() => process.kill(worker, "SIGKILL")))
          yield* eventually(berth.pids, (now) => now.worker !== worker && isProcessAlive(now.worker), {
            description: "another worker",
            timeout: waitLimit
          })
        }
        const unfinished = sql`
          select count(*)::int as count from (
            select id from inbound_messages where status = 'waiting'
            union all select id from outbound_messages where status = 'pending'
          ) as open`
        yield* eventually(
          Effect.zip(
            unfinished,
            Effect.sync(() => telegram.sent().length)
          ),
          ([[open], sent]) => open?.["count"] === 0 && sent >= total,
          { description: "all answers", timeout: waitLimit }
        )

        const asked = upstream.received.flatMap(({ body }) => {
          const messages = memberAt(body, "messages")
          return Array.isArray(messages) ? [textOrEmpty(memberAt(messages.at(-1), "content"))] : []
        })
        const [counted] = yield* sql<{ repeats: number; parts: number }>`
          select sum(repeats)::int as repeats, sum(parts_sent)::int as parts from outbound_messages`
        const repeats = counted?.repeats ?? 0
        assert.strictEqual(counted?.parts, total)
        assert.isAtLeast(telegram.sent().length, total)
        assert.isAtMost(telegram.sent().length, total + repeats)
        for (const chat of Array.range(1, chats)) {
          const expected = Array.range(1, messagesPerChat).map((place) => textOf(chat, place))
          assert.deepStrictEqual(
            asked.filter((text) => text.startsWith(`message-${chat}-`)),
            expected
          )
          const stored = yield* sql<{ content: string }>`
            select content from messages join channel_chats using (session_id)
            where chat_id = ${String(chat)} and sender = 'user' and state = 'answered' order by seq`
          assert.deepStrictEqual(
            stored.map(({ content }) => content),
            expected
          )
        }
        yield* Effect.logInfo("Kills of the worker").pipe(
          Effect.annotateLogs({ sent: telegram.sent().length, repeats })
        )
      }).pipe(Effect.provide(Records.layer(Redacted.make(databaseUrl))))
    }),
  { timeout: 420_000 }
)
