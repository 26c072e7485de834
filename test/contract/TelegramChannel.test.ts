import { ChannelRecovery } from "@berth/domain/channels/ChannelRecovery"
import { Chats } from "@berth/domain/channels/Chats"
import type { TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { AgentId } from "@berth/domain/shared/AgentId"
import { failureNotice, refusalNotices } from "@berth/domain/channels/ChannelPolicy"
import { PluginFailed } from "@berth/domain/gateway/plugins/PluginRun"
import { SpeechTest } from "@berth/infra/backend/SpeechTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Exit, Fiber, Stream } from "effect"
import * as ChannelWorker from "../support/ChannelWorker.ts"
import { eventually } from "../support/Eventually.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent, exhaustUnits, lapseSubscription, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { findUsedUnits } from "./TurnFixtures.ts"
import {
  askedAfter,
  connectOwner,
  countCalls,
  deliver,
  FakeTelegram,
  freeCall,
  messageIn,
  newChat,
  put,
  readHealth,
  readLogs,
  runChannelJobs,
  sentAfterJobs,
  runResumed,
  sentTo,
  unready,
  voiceIn
} from "./TelegramFixtures.ts"

layer(ChannelWorker.layer({ appUrl: "https://berth.example" }), { excludeTestServices: true })(
  "Telegram by webhook",
  (it) => {
    it.effect("A connected agent has a webhook with a secret of its own, and its health shows the bot", () =>
      Effect.gen(function* () {
        const { bot, webhook } = yield* FakeTelegram
        const owner = yield* connectOwner()
        const url = `https://berth.example/api/webhooks/platformA/${owner.agent.id}`
        assert.strictEqual(webhook()?.url, url)
        const health = yield* readHealth(owner)
        assert.include(health, '"state":"connected"')
        assert.include(health, `"name":"${bot.username}"`)
        assert.include(health, url)
        assert.notInclude(health, webhook()?.secret ?? "none")
        assert.include(yield* readLogs(owner), "Channel platformA connected as berth_bot")
      })
    )

    it.effect("A voice message reaches the agent as text marked as spoken, and its transcription is charged", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const used = yield* findUsedUnits(owner)
        yield* deliver(owner, { message: yield* voiceIn(chat, "What is up?") })
        yield* runChannelJobs
        assert.deepStrictEqual(yield* sentTo(chat), ["Echo: [voice message, transcribed] What is up?"])
        assert.strictEqual((yield* findUsedUnits(owner)) - used, 3, "one of the turn, two of stt")
        yield* deliver(owner, { message: yield* voiceIn(chat, "Too long", 601) })
        yield* runChannelJobs
        assert.deepStrictEqual((yield* sentTo(chat)).slice(1), [failureNotice])
        assert.include(yield* readLogs(owner), "longer than 10m")
        const poor = yield* connectOwner()
        yield* exhaustUnits(poor)
        yield* deliver(poor, { message: yield* voiceIn(chat, "No units") })
        yield* runChannelJobs
        assert.deepStrictEqual((yield* sentTo(chat)).slice(2), [refusalNotices.units])
      })
    )

    it.effect("Without a speech provider the sender of voice messages is notified once, and the owner by the log", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const before = yield* countCalls
        const used = yield* findUsedUnits(owner)
        const { withBehavior } = yield* SpeechTest
        const missing = () => new PluginFailed({ reason: "there is no key for openai", isUnavailable: true })
        yield* withBehavior({ transcribe: missing })(
          Effect.gen(function* () {
            for (const spoken of ["one", "two"]) yield* deliver(owner, { message: yield* voiceIn(chat, spoken) })
            yield* deliver(owner, { message: { ...(yield* voiceIn(chat, "three")), caption: "Read this" } })
            yield* runChannelJobs
          })
        )
        const [notice, ...others] = yield* sentTo(chat)
        assert.strictEqual(notice, refusalNotices.speech)
        assert.lengthOf(others, 1)
        assert.match(String(others[0]), /Read this[^]*not available here/)
        assert.lengthOf((yield* readLogs(owner)).match(/no speech provider/g) ?? [], 1)
        assert.lengthOf(yield* askedAfter(before), 1)
        assert.strictEqual((yield* findUsedUnits(owner)) - used, 1)
      })
    )

    it.effect("A message is answered in its chat, charged to the owner, and listed with its platform", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const used = yield* findUsedUnits(owner)
        const answer = yield* deliver(owner, { message: messageIn(chat, "What is **up**?") })
        assert.deepStrictEqual([answer.status, answer.body], [200, { received: true }])
        yield* runChannelJobs
        assert.deepStrictEqual(yield* sentTo(chat), ["Echo: What is up?"])
        assert.strictEqual((yield* findUsedUnits(owner)) - used, 1)
        const listed = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/messages`, as: owner })
        assert.deepInclude(Object(listed.body), { total: 2 })
        assert.strictEqual(listed.text.split('"platform":"platformA"').length, 3)
      })
    )

    it.effect("A webhook request without the right secret stores nothing", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const { webhook } = yield* FakeTelegram
        const secret = webhook()?.secret ?? ""
        for (const wrong of ["", "x", secret.slice(1), `${secret}x`, secret.toUpperCase()]) {
          const refused = yield* deliver(owner, { message: messageIn(chat, "forged") }, wrong)
          assert.deepStrictEqual([refused.status, refused.body["code"]], [401, "webhook_not_authentic"])
        }
        assert.strictEqual(yield* runChannelJobs, 0)
        assert.deepStrictEqual(yield* sentTo(chat), [])
      })
    )

    it.effect("The secret of one agent opens no other agent's webhook", () =>
      Effect.gen(function* () {
        const [owner, other] = [yield* createOwnerWithAgent(), yield* connectOwner()]
        const { webhook } = yield* FakeTelegram
        yield* put(owner, { platformA: { token: "1:other" } })
        const refused = yield* deliver(owner, { message: messageIn(newChat(), "hi") }, webhook()?.secret)
        assert.strictEqual(refused.status, 401)
        assert.strictEqual((yield* deliver(other, { message: messageIn(newChat(), "hi") })).status, 200)
        yield* runChannelJobs
      })
    )

    it.effect("One hundred parallel replays of an update cause one model call and one answer", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const message = messageIn(chat, "once")
        const before = yield* countCalls
        const answers = yield* Effect.replicateEffect(deliver(owner, { message }), 100, { concurrency: "unbounded" })
        assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
        yield* Effect.all([runChannelJobs, runChannelJobs, runChannelJobs], { concurrency: "unbounded" })
        yield* deliver(owner, { message })
        yield* runChannelJobs
        assert.deepStrictEqual(yield* askedAfter(before), ["once"])
        assert.deepStrictEqual(yield* sentTo(chat), ["Echo: once"])
      })
    )

    it.effect("Messages of a chat are answered in the platform's order, in one conversation", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const messages = ["one", "two", "three", "four"].map((text) => messageIn(chat, text))
        const before = yield* countCalls
        for (const message of messages.toReversed()) yield* deliver(owner, { message })
        yield* runChannelJobs
        assert.deepStrictEqual(yield* askedAfter(before), ["one", "two", "three", "four"])
        assert.deepStrictEqual(yield* sentTo(chat), ["Echo: one", "Echo: two", "Echo: three", "Echo: four"])
        const { calls } = yield* AgentManagerTest
        const turns = (yield* calls).slice(before).flatMap(({ turn }) => (turn === undefined ? [] : [turn]))
        assert.lengthOf([...new Set(turns.map(({ sessionId }) => sessionId))], 1)
        assert.lengthOf(turns.at(-1)?.history ?? [], 6)
      })
    )

    it.effect("An edit replaces the text of a waiting message, and changes nothing of an answered one", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const message = messageIn(chat, "typo")
        const edited = { ...message, text: "fixed", edit_date: message.date + 5 }
        const before = yield* countCalls
        yield* deliver(owner, { edited_message: edited })
        yield* deliver(owner, { message })
        yield* runChannelJobs
        yield* deliver(owner, { edited_message: { ...edited, text: "again", edit_date: message.date + 9 } })
        const late = messageIn(chat, "long ago")
        yield* deliver(owner, { edited_message: { ...late, edit_date: late.date + 3600 } })
        yield* runChannelJobs
        assert.deepStrictEqual(yield* askedAfter(before), ["fixed"])
      })
    )

    it.effect(
      "In a group the agent answers when it is mentioned, replied to or commanded, as a reply in the topic",
      () =>
        Effect.gen(function* () {
          const { bot, sent } = yield* FakeTelegram
          const owner = yield* connectOwner()
          const group = { ...newChat(), id: -100_500, type: "supergroup" }
          const from = { id: 5, is_bot: false, first_name: "Ada", last_name: "L" }
          const mention = { type: "mention", offset: 0, length: 10 }
          const before = yield* countCalls
          const inGroup = (text: string, more = {}) => ({ message: messageIn(group, text, { from, ...more }) })
          yield* deliver(owner, inGroup("nobody is asked"))
          yield* deliver(owner, inGroup("@other_bot hello", { entities: [mention] }))
          yield* deliver(
            owner,
            inGroup("/help@other_bot", { entities: [{ type: "bot_command", offset: 0, length: 15 }] })
          )
          yield* deliver(owner, inGroup("@Berth_Bot hello", { entities: [mention] }))
          yield* deliver(owner, inGroup("and this?", { reply_to_message: { from: { id: bot.id } } }))
          const topic = { message_thread_id: 3, is_topic_message: true, entities: [mention] }
          yield* deliver(owner, inGroup("@berth_bot topic", topic))
          yield* deliver(owner, {
            message: {
              ...messageIn(group, "@berth_bot me", { entities: [mention] }),
              from: { ...from, id: bot.id, is_bot: true }
            }
          })
          yield* runChannelJobs
          assert.sameMembers([...(yield* askedAfter(before))], ["Ada L: hello", "Ada L: and this?", "Ada L: topic"])
          const replies = sent().filter(({ chatId }) => chatId === String(group.id))
          assert.lengthOf(replies, 3)
          for (const { replyTo } of replies) assert.isNumber(replyTo)
          assert.deepStrictEqual(
            replies.flatMap(({ threadId }) => (threadId === undefined ? [] : [threadId])),
            [3]
          )
        })
    )

    it.effect("Commands are answered without the model and free of charge; /reset begins a new conversation", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const used = yield* findUsedUnits(owner)
        const before = yield* countCalls
        for (const text of ["/start", "/help", "hello", "/reset", "again"]) {
          yield* deliver(owner, { message: messageIn(chat, text) })
          yield* runChannelJobs
        }
        assert.deepStrictEqual(yield* askedAfter(before), ["hello", "again"])
        assert.strictEqual((yield* findUsedUnits(owner)) - used, 2)
        const { calls } = yield* AgentManagerTest
        const turns = (yield* calls).slice(before).flatMap(({ turn }) => (turn === undefined ? [] : [turn]))
        assert.lengthOf([...new Set(turns.map(({ sessionId }) => sessionId))], 2)
        assert.deepStrictEqual(turns.at(-1)?.history, [])
        assert.lengthOf(yield* sentTo(chat), 5)
      })
    )

    it.effect("Unknown kinds of updates and odd messages are accepted and ignored", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const odd: ReadonlyArray<Readonly<Record<string, unknown>>> = [
          { poll: { id: "1" } },
          { my_chat_member: {} },
          { message: { message_id: "x" } },
          { message: 7 },
          { message: { ...messageIn(newChat(), ""), new_chat_members: [{}] } }
        ]
        for (const update of odd) assert.strictEqual((yield* deliver(owner, update)).status, 200)
        assert.strictEqual(yield* runChannelJobs, 0)
        const { webhook } = yield* FakeTelegram
        const malformed = yield* App.web({
          method: "POST",
          path: `/api/webhooks/platformA/${owner.agent.id}`,
          body: "{bad",
          headers: {
            "content-type": "application/json",
            "x-telegram-bot-api-secret-token": webhook()?.secret ?? ""
          }
        })
        assert.strictEqual(malformed.status, 400)
      })
    )

    it.effect("Files are described to the model as text", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const before = yield* countCalls
        const { text: _, ...message } = messageIn(chat, "")
        yield* deliver(owner, {
          message: {
            ...message,
            caption: "Look",
            photo: [
              { file_id: "small", file_size: 10 },
              { file_id: "large", file_size: 300_000 }
            ]
          }
        })
        const { text: _text, ...second } = messageIn(chat, "")
        const document = { file_id: "d", file_name: "a.pdf", mime_type: "application/pdf", file_size: 50_000_000 }
        yield* deliver(owner, { message: { ...second, document } })
        yield* runChannelJobs
        const [photo = "", pdf = ""] = yield* askedAfter(before)
        assert.match(photo, /^Look\n\[photo, 293 kB; its content is not available here\]$/)
        assert.match(pdf, /^\[document, a.pdf, application\/pdf, 47.7 MB; /)
      })
    )

    it.effect("A long answer is sent in parts within the limit, in order, with its code blocks whole", () =>
      Effect.gen(function* () {
        const { withBehavior } = yield* AgentManagerTest
        const owner = yield* connectOwner()
        const chat = newChat()
        const reply = `Intro\n\n\`\`\`ts\n${"const a = 1 // 😀 <b>\n".repeat(500)}\`\`\`\nEnd`
        const done: TurnEvent = { type: "done", reply, model: "m" }
        yield* deliver(owner, { message: messageIn(chat, "long") })
        yield* withBehavior({ chat: () => Stream.make(done) })(runChannelJobs)
        const parts = yield* sentTo(chat)
        assert.isAbove(parts.length, 2)
        assert.isTrue((parts[0] ?? "").startsWith("Intro"))
        assert.isTrue((parts.at(-1) ?? "").endsWith("End"))
        assert.strictEqual(parts.join("").split("const a = 1 // 😀 <b>").length, 501)
      })
    )

    it.effect("An answer whose format Telegram refuses is sent as plain text", () =>
      Effect.gen(function* () {
        const { failNext, sent } = yield* FakeTelegram
        const owner = yield* connectOwner()
        const chat = newChat()
        failNext("sendMessage", { kind: "status", status: 400, description: "Bad Request: can't parse entities: x" })
        yield* deliver(owner, { message: messageIn(chat, "**hi**") })
        yield* runChannelJobs
        const [message] = sent().filter(({ chatId }) => chatId === String(chat.id))
        assert.deepInclude(message, { text: "Echo: **hi**", isHtml: false })
      })
    )

    it.effect(
      "A message that Telegram throttles or cuts off is sent later, in order, and possible repeats are counted",
      () =>
        Effect.gen(function* () {
          const { failNext } = yield* FakeTelegram
          const owner = yield* connectOwner()
          const chat = newChat()
          failNext(
            "sendMessage",
            { kind: "status", status: 429, description: "Too Many Requests", retryAfter: 1 },
            { kind: "accept-and-cut" }
          )
          yield* deliver(owner, { message: messageIn(chat, "one") })
          yield* deliver(owner, { message: messageIn(chat, "two") })
          yield* runChannelJobs
          assert.deepStrictEqual(yield* sentTo(chat), [])
          const resume = Effect.gen(function* () {
            yield* sql`update channel_chats set paused_until = null where chat_id = ${String(chat.id)}`
            yield* sql`update outbound_messages set created_at = now() - interval '1 minute'`
            yield* (yield* ChannelRecovery).resumeChats
            yield* runChannelJobs
          })
          yield* resume
          assert.deepStrictEqual(yield* sentTo(chat), ["Echo: one"])
          yield* resume
          // The platform accepted the first one before the connection broke.
          assert.deepStrictEqual(yield* sentTo(chat), ["Echo: one", "Echo: one", "Echo: two"])
          const rows =
            yield* sql`select repeats, status from outbound_messages where chat_id = ${String(chat.id)} order by id`
          assert.deepStrictEqual(rows, [
            { repeats: 1, status: "sent" },
            { repeats: 0, status: "sent" }
          ])
        })
    )

    it.effect("A chat that has blocked the bot loses its answer with a log line, and later ones are answered", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        yield* deliver(owner, { message: messageIn({ id: 403, type: "private" }, "blocked") })
        yield* runChannelJobs
        assert.include(yield* readLogs(owner), "could not send to chat 403: Forbidden: bot was blocked by the user")
        const [row] = yield* (yield* SqlClient)`select status from outbound_messages where chat_id = '403'`
        assert.deepStrictEqual(row, { status: "failed" })
      })
    )

    it.effect(
      "A revoked token shows in the health and the log, keeps the agent up, and answers go out with a new token",
      () =>
        Effect.gen(function* () {
          const { setRevoked, token } = yield* FakeTelegram
          const owner = yield* connectOwner()
          const chat = newChat()
          yield* deliver(owner, { message: messageIn(chat, "hello") })
          yield* Effect.acquireUseRelease(
            Effect.sync(() => setRevoked(true)),
            () => runChannelJobs,
            () => Effect.sync(() => setRevoked(false))
          )
          assert.include(yield* readHealth(owner), '"state":"refused","reason":"Telegram refuses the token."')
          assert.include(yield* readLogs(owner), "Channel platformA refused: Telegram refuses the token.")
          const [agent] = yield* sql`select status from agents where id = ${owner.agent.id}`
          assert.deepStrictEqual(agent, { status: "running" })
          yield* put(owner, { platformA: { token } })
          yield* runChannelJobs
          yield* sql`update channel_chats set paused_until = null`
          yield* sql`update outbound_messages set created_at = now() - interval '1 minute'`
          yield* (yield* ChannelRecovery).resumeChats
          yield* runChannelJobs
          assert.deepStrictEqual(yield* sentTo(chat), ["Echo: hello"])
        })
    )

    it.effect("A refused token, and a platform that is down, never fail the request that connects", () =>
      Effect.gen(function* () {
        const { failNext, token } = yield* FakeTelegram
        const owner = yield* createOwnerWithAgent()
        const refuse = Effect.zipRight(put(owner, { platformA: { token: "1:wrong" } }), runChannelJobs)
        yield* sql`alter table events add constraint no_broken check (kind <> 'channel.broken') not valid`
        assert.isTrue(Exit.isFailure(yield* Effect.exit(refuse)))
        assert.include(yield* readHealth(owner), '"state":"pending"', "health and event are stored together")
        yield* sql`alter table events drop constraint no_broken`
        yield* refuse
        assert.include(yield* readHealth(owner), '"state":"refused"')
        const events = yield* sql`select data ->> 'state' as state from events where user_id = ${owner.user.id}`
        assert.deepInclude(events, { state: "refused" })
        failNext("getMe", { kind: "status", status: 502, description: "Bad Gateway" })
        yield* put(owner, { platformA: { token } })
        yield* runChannelJobs
        assert.include(yield* readHealth(owner), '"state":"unreachable"')
        yield* (yield* SqlClient)`update channel_connections set checked_at = now() - interval '2 minutes'`
        yield* (yield* ChannelRecovery).repeatChecks
        yield* runChannelJobs
        assert.include(yield* readHealth(owner), '"state":"connected"')
      })
    )

    it.effect("The latest connection of a bot wins, and the earlier one shows why it ended", () =>
      Effect.gen(function* () {
        const [first, second] = [yield* connectOwner(), yield* connectOwner()]
        assert.include(yield* readHealth(first), '"state":"refused","reason":"Another agent uses this bot."')
        assert.include(yield* readHealth(second), '"state":"connected"')
      })
    )

    it.effect(
      "Without units, for a stopped agent or a suspended account, one notice per hour is sent and no model is called",
      () =>
        Effect.gen(function* () {
          const cases = [
            ["no units and credits are left", exhaustUnits],
            [
              "the agent is not running",
              (owner: OwnerWithAgent) => sql`update agents set status = 'stopped' where id = ${owner.agent.id}`
            ],
            [
              "the account is suspended",
              (owner: OwnerWithAgent) => sql`update users set suspended_at = now() where id = ${owner.user.id}`
            ]
          ] as const
          for (const [reason, break_] of cases) {
            const owner = yield* connectOwner()
            const chat = newChat()
            yield* break_(owner)
            const used = yield* findUsedUnits(owner)
            const before = yield* countCalls
            for (const text of ["one", "two", "three"]) {
              yield* deliver(owner, { message: messageIn(chat, text) })
              yield* runChannelJobs
            }
            assert.deepStrictEqual(yield* askedAfter(before), [], reason)
            assert.lengthOf(yield* sentTo(chat), 1, reason)
            assert.strictEqual(yield* findUsedUnits(owner), used)
            const [entries] = yield* sql`
            select count(*)::int as count from agent_log_entries where message like ${`%${reason}`} and agent_id = ${owner.agent.id}`
            assert.deepStrictEqual(entries, { count: 1 }, reason)
          }
        })
    )

    it.effect(
      "A turn that fails after its model call began is answered by an apology, never repeated, and logged",
      () =>
        Effect.gen(function* () {
          const { withBehavior } = yield* AgentManagerTest
          const turns = yield* TurnRepository
          const owner = yield* connectOwner()
          const chat = newChat()
          const before = yield* countCalls
          yield* deliver(owner, { message: messageIn(chat, "hello") })
          yield* withBehavior({
            chat: (userId, { agentId, messageId: turnId }) =>
              Stream.fromEffect(
                Effect.zipRight(
                  turns.beginCall({ userId, agentId, turnId }, freeCall),
                  new InstanceUnavailable({ reason: "it hangs" })
                )
              )
          })(runChannelJobs)
          assert.deepStrictEqual(yield* sentTo(chat), ["I could not answer this message. Please send it again."])
          assert.deepStrictEqual(yield* askedAfter(before), ["hello"])
          assert.include(yield* readLogs(owner), "got no answer")
        })
    )

    it.effect("A turn that fails before its model call is repeated as another turn until its call begins", () =>
      Effect.gen(function* () {
        const { calls, withBehavior } = yield* AgentManagerTest
        const owner = yield* connectOwner()
        const chat = newChat()
        const before = yield* countCalls
        const used = yield* findUsedUnits(owner)
        yield* deliver(owner, { message: messageIn(chat, "hello") })
        yield* deliver(owner, { message: messageIn(chat, "next") })
        yield* withBehavior(unready)(Effect.repeatN(runResumed(chat), 1))
        assert.deepStrictEqual(yield* sentTo(chat), [])
        assert.strictEqual(yield* findUsedUnits(owner), used)
        yield* runResumed(chat)
        assert.deepStrictEqual(yield* sentTo(chat), ["Echo: hello", "Echo: next"])
        assert.deepStrictEqual(yield* askedAfter(before), ["hello", "hello", "hello", "next"])
        const turnIds = (yield* calls).slice(before).flatMap(({ turn }) => (turn === undefined ? [] : [turn.messageId]))
        assert.lengthOf([...new Set(turnIds)], 4)
        const listed = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/messages`, as: owner })
        assert.deepInclude(Object(listed.body), { total: 4 })
      })
    )

    it.effect("A voice message whose turn is repeated is transcribed once", () =>
      Effect.gen(function* () {
        const { withBehavior } = yield* AgentManagerTest
        const { calls } = yield* SpeechTest
        const owner = yield* connectOwner()
        const chat = newChat()
        const before = (yield* calls).length
        const used = yield* findUsedUnits(owner)
        yield* deliver(owner, { message: yield* voiceIn(chat, "Say it once") })
        yield* withBehavior(unready)(Effect.repeatN(runResumed(chat), 2))
        yield* runResumed(chat)
        assert.deepStrictEqual(yield* sentTo(chat), ["Echo: [voice message, transcribed] Say it once"])
        assert.lengthOf((yield* calls).slice(before), 1)
        assert.strictEqual((yield* findUsedUnits(owner)) - used, 3, "one of the turn, two of stt")
      })
    )

    it.effect("A voice message that waits for other messages is transcribed and charged once", () =>
      Effect.gen(function* () {
        const { calls } = yield* SpeechTest
        const owner = yield* connectOwner()
        const chat = newChat()
        yield* deliver(owner, { message: messageIn(chat, "hello") })
        yield* runChannelJobs
        yield* sql`
          insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
          select 'msg_busy' || n, session_id, user_id, agent_id, 100 + n, 'user', 'x', 'web', 'pending', now()
          from messages cross join generate_series(1, 16) as n where agent_id = ${owner.agent.id} and sender = 'user'`
        const before = (yield* calls).length
        const used = yield* findUsedUnits(owner)
        yield* deliver(owner, { message: yield* voiceIn(chat, "Say it once") })
        yield* runChannelJobs
        yield* Effect.repeatN(runResumed(chat), 1)
        assert.lengthOf(yield* sentTo(chat), 1)
        yield* sql`delete from messages where id like 'msg_busy%'`
        yield* runResumed(chat)
        assert.deepStrictEqual((yield* sentTo(chat)).slice(1), ["Echo: [voice message, transcribed] Say it once"])
        assert.lengthOf((yield* calls).slice(before), 1)
        assert.strictEqual((yield* findUsedUnits(owner)) - used, 3, "one of the turn, two of stt")
        const kept = yield* sql`select transcripts from inbound_messages where agent_id = ${owner.agent.id}`
        assert.deepStrictEqual([...new Set(kept.map(({ transcripts }) => JSON.stringify(transcripts)))], ["{}"])
      })
    )

    it.effect("A message whose turn cannot begin is answered by an apology ten minutes after the first attempt", () =>
      Effect.gen(function* () {
        const { withBehavior } = yield* AgentManagerTest
        const owner = yield* connectOwner()
        const chat = newChat()
        yield* deliver(owner, { message: messageIn(chat, "hello") })
        yield* withBehavior(unready)(
          Effect.gen(function* () {
            for (const [age, sent] of [
              ["0 minutes", 0],
              ["9 minutes", 0],
              ["10 minutes", 1]
            ] as const) {
              yield* sql`update inbound_messages set first_turn_at = now() - ${age}::interval where first_turn_at is not null`
              yield* runResumed(chat)
              assert.lengthOf(yield* sentTo(chat), sent, age)
            }
          })
        )
        assert.include(yield* readLogs(owner), "got no answer")
      })
    )

    it.effect(
      "A claim during a turn loses neither its reply nor a message after it, and makes the chat of the code its owner's",
      () =>
        Effect.gen(function* () {
          const { token } = yield* FakeTelegram
          const { calls, withBehavior } = yield* AgentManagerTest
          const chat = newChat()
          const provisioned = yield* App.web({
            method: "POST",
            path: "/api/provision",
            json: { platformAToken: token, platformAUserId: String(chat.id) }
          })
          const [agent] = yield* sql<{ id: AgentId }>`
            update agents set status = 'running' where owner_id = ${String(provisioned.body["userId"])} returning id`
          const owner = { agent: { id: agent?.id ?? AgentId.make("") } }
          yield* runChannelJobs
          yield* sql`update outbound_messages set created_at = now() - interval '6 seconds'`
          yield* runResumed(chat)
          const [, code = ""] = /\n(\S+)$/.exec((yield* sentTo(chat))[0] ?? "") ?? []
          assert.notStrictEqual(code, "")
          assert.deepStrictEqual(yield* sql`select text from outbound_messages where chat_id = ${String(chat.id)}`, [
            { text: "" }
          ])

          const before = yield* countCalls
          yield* deliver(owner, { message: messageIn(chat, "before") })
          const claimer = yield* App.signInNewUser()
          const gate = yield* Deferred.make<TurnEvent>()
          yield* withBehavior({ chat: () => Stream.fromEffect(Deferred.await(gate)) })(
            Effect.gen(function* () {
              const working = yield* Effect.fork(runChannelJobs)
              yield* eventually(askedAfter(before), (requested) => requested.length === 1)
              const claiming = yield* Effect.fork(
                App.web({ method: "POST", path: "/api/agents/claim", as: claimer, json: { code } })
              )
              yield* eventually(
                Effect.flatMap(App.TestApp, ({ logLines }) => logLines),
                (lines) => lines.join("\n").includes("Claim waits for turns")
              )
              yield* Deferred.succeed(gate, { type: "done", reply: "the reply", model: "m" })
              assert.strictEqual((yield* Fiber.join(claiming)).status, 200)
              yield* Fiber.join(working)
            })
          )
          assert.strictEqual((yield* sentTo(chat)).at(-1), "the reply")

          yield* deliver(owner, { message: messageIn(chat, "after") })
          yield* runChannelJobs
          assert.lengthOf(yield* sentTo(chat), 2)
          yield* sql`update agents set status = 'running' where id = ${owner.agent.id}`
          yield* runResumed(chat)
          assert.strictEqual((yield* sentTo(chat)).at(-1), "Echo: after")
          const turns = (yield* calls).slice(before).flatMap(({ turn }) => (turn === undefined ? [] : [turn.fromOwner]))
          assert.deepStrictEqual(turns, [false, true])
          const listed = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/messages`, as: claimer })
          assert.deepInclude(Object(listed.body), { total: 4 })
        })
    )

    it.effect(
      "A worker that dies in mid-turn leaves the turn running, and another one sends the answer after a sign of typing",
      () =>
        Effect.gen(function* () {
          const { withBehavior } = yield* AgentManagerTest
          const owner = yield* connectOwner()
          const chat = newChat()
          const telegram = yield* FakeTelegram
          const before = yield* countCalls
          yield* deliver(owner, { message: messageIn(chat, "slow") })
          const gate = yield* Deferred.make<TurnEvent>()
          yield* withBehavior({ chat: () => Stream.fromEffect(Deferred.await(gate)) })(
            Effect.gen(function* () {
              const worker = yield* Effect.fork(runChannelJobs)
              yield* eventually(askedAfter(before), (requested) => requested.length === 1)
              yield* Fiber.interrupt(worker)
              const typed = telegram.calls("sendChatAction").length
              yield* sql`update inbound_messages set received_at = now() - interval '1 minute'`
              yield* sql`update channel_chats set claim_id = null, lease_until = null`
              yield* (yield* ChannelRecovery).resumeChats
              const another = yield* Effect.fork(runChannelJobs)
              yield* eventually(
                Effect.sync(() => telegram.calls("sendChatAction").length),
                (count) => count > typed
              )
              yield* Deferred.succeed(gate, { type: "done", reply: "Slow: slow", model: "m" })
              yield* Fiber.join(another)
            })
          )
          assert.deepStrictEqual(yield* sentTo(chat), ["Slow: slow"])
          assert.deepStrictEqual(yield* askedAfter(before), ["slow"])
        })
    )

    it.effect("A chat that floods is answered up to the limit with one notice, and others go on", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const [loud, calm] = [newChat(), newChat()]
        const before = yield* countCalls
        yield* Effect.forEach(
          Array.from({ length: 40 }, (_, n) => messageIn(loud, `spam ${n}`)),
          (message) => deliver(owner, { message }),
          { concurrency: 10, discard: true }
        )
        yield* deliver(owner, { message: messageIn(calm, "calm") })
        yield* runChannelJobs
        assert.lengthOf(yield* askedAfter(before), 21)
        const sent = yield* sentTo(loud)
        assert.lengthOf(sent, 21)
        assert.lengthOf(
          sent.filter((text) => text.startsWith("You write faster")),
          1
        )
        assert.deepStrictEqual(yield* sentTo(calm), ["Echo: calm"])
      })
    )

    it.effect("Messages of bots are ignored unless configured, and bots that only answer each other are stopped", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        const chat = newChat()
        const from = { id: 77, is_bot: true, first_name: "Other" }
        const before = yield* countCalls
        yield* deliver(owner, { message: messageIn(chat, "from a bot", { from }) })
        assert.strictEqual(yield* runChannelJobs, 0)
        yield* put(owner, { platformA: { answersBots: true } })
        for (let n = 0; n < 8; n += 1) yield* deliver(owner, { message: messageIn(chat, `loop ${n}`, { from }) })
        yield* deliver(owner, { message: messageIn(chat, "a person") })
        yield* deliver(owner, { message: messageIn(chat, "loop again", { from }) })
        yield* runChannelJobs
        assert.deepStrictEqual(yield* askedAfter(before), [
          ...Array.from({ length: 5 }, (_, n) => `loop ${n}`),
          "a person",
          "loop again"
        ])
        assert.include(yield* readLogs(owner), "only bots write")
      })
    )

    it.effect("A chat without a message for 90 days is deleted with its messages, and others stay", () =>
      Effect.gen(function* () {
        const { prune } = yield* Chats
        const owner = yield* connectOwner()
        const [idle, used] = [newChat(), newChat()]
        for (const chat of [idle, used]) yield* deliver(owner, { message: messageIn(chat, "hello") })
        yield* runChannelJobs
        yield* sql`update channel_chats set used_at = now() - interval '91 days' where chat_id = ${String(idle.id)}`
        const now = yield* DateTime.now
        const before = { messages: DateTime.subtract(now, { days: 7 }), chats: DateTime.subtract(now, { days: 90 }) }
        assert.strictEqual(yield* prune(before), 1)
        const left = yield* sql`select chat_id from inbound_messages where agent_id = ${owner.agent.id}`
        assert.deepStrictEqual(left, [{ chatId: String(used.id) }])
        yield* sql`update channel_chats set used_at = now() - interval '91 days' where chat_id = ${String(used.id)}`
        yield* deliver(owner, { message: messageIn(used, "back") })
        assert.strictEqual(yield* prune(before), 0)
        assert.deepStrictEqual(yield* sentAfterJobs(used), ["Echo: hello", "Echo: back"])
      })
    )

    it.effect("The chat of an agent's owner stays however long it is idle, so that the owner is recognized", () =>
      Effect.gen(function* () {
        const chats = yield* Chats
        const owner = yield* connectOwner()
        const chat = newChat()
        yield* deliver(owner, { message: messageIn(chat, "hello") })
        yield* runChannelJobs
        yield* chats.expectOwner({ agentId: owner.agent.id, platform: "platformA", chatId: String(chat.id) })
        yield* chats.verifyOwner(owner.agent.id)
        yield* sql`update channel_chats set used_at = now() - interval '91 days' where chat_id = ${String(chat.id)}`
        const now = yield* DateTime.now
        yield* chats.prune({
          messages: DateTime.subtract(now, { days: 7 }),
          chats: DateTime.subtract(now, { days: 90 })
        })
        yield* deliver(owner, { message: messageIn(chat, "back") })
        yield* runChannelJobs
        const sessions = yield* sql`select from_owner from chat_sessions where agent_id = ${owner.agent.id}`
        assert.deepInclude(sessions, { fromOwner: true })
      })
    )

    it.effect("A downgraded plan ends the channel without an error at the webhook", () =>
      Effect.gen(function* () {
        const owner = yield* connectOwner()
        yield* lapseSubscription(owner)
        const chat = newChat()
        assert.strictEqual((yield* deliver(owner, { message: messageIn(chat, "hi") })).status, 200)
        yield* put(owner, { platformA: { enabled: false } })
        assert.strictEqual((yield* deliver(owner, { message: messageIn(chat, "off") })).status, 200)
        const before = yield* countCalls
        yield* runChannelJobs
        assert.deepStrictEqual(yield* askedAfter(before), [])
      })
    )

    it.effect("No secret of a channel appears in a log or a response", () =>
      Effect.gen(function* () {
        const { logLines } = yield* App.TestApp
        const { token, webhook } = yield* FakeTelegram
        const owner = yield* connectOwner()
        yield* deliver(owner, { message: messageIn(newChat(), "hello") })
        yield* runChannelJobs
        const lines = (yield* logLines).join("\n")
        const secret = token.split(":")[1] ?? token
        const paths = ["channels", "config", "logs", "messages"].map((name) => `/api/agents/${owner.agent.id}/${name}`)
        const texts = yield* Effect.forEach(paths, (path) =>
          Effect.map(App.web({ method: "GET", path, as: owner }), ({ text }) => text)
        )
        for (const text of [lines, ...texts]) {
          assert.notInclude(text, secret)
          assert.notInclude(text, webhook()?.secret ?? "none")
        }
      })
    )
  }
)
