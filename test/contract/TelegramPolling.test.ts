import { ChannelReaders } from "@berth/domain/channels/ChannelReaders"
import { ChannelRecovery } from "@berth/domain/channels/ChannelRecovery"
import { ChannelConnections } from "@berth/domain/channels/ChannelConnections"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as ChannelWorker from "../support/ChannelWorker.ts"
import { eventually } from "../support/Eventually.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"
import {
  connectOwner,
  FakeTelegram,
  messageIn,
  newChat,
  readHealth,
  runChannelJobs,
  sentAfterJobs
} from "./TelegramFixtures.ts"

layer(ChannelWorker.layer(), { excludeTestServices: true })("Telegram by polling", (it) => {
  const lease = sql`select claim_id, cursor from channel_connections where cursor is not null`

  it.effect("Without a public address updates are read, each once, and the cursor moves with the stored messages", () =>
    Effect.gen(function* () {
      const { addUpdate, calls, updatesLeft, webhook } = yield* FakeTelegram
      const owner = yield* connectOwner()
      assert.isUndefined(webhook())
      assert.include(yield* readHealth(owner), '"transport":"polling","webhookUrl":null')
      const chat = newChat()
      addUpdate({ message: messageIn(chat, "first") })
      const { readUnread } = yield* ChannelReaders
      yield* readUnread
      yield* readUnread
      yield* eventually(sentAfterJobs(chat), (sent) => sent.length === 1)
      const last = addUpdate({ message: messageIn(chat, "second") })
      yield* eventually(sentAfterJobs(chat), (sent) => sent.length === 2)
      yield* eventually(Effect.sync(updatesLeft), (left) => left === 0)
      const [row] = yield* lease
      assert.strictEqual(row?.["cursor"], String(last + 1))
      assert.isAtLeast(calls("getUpdates").length, 2)
    })
  )

  it.effect("A reader whose lease is lost stops, and stores nothing more", () =>
    Effect.gen(function* () {
      const { addUpdate, updatesLeft } = yield* FakeTelegram
      const chat = newChat()
      yield* sql`update channel_connections set claim_id = 'another', lease_until = now() + interval '1 minute'`
      addUpdate({ message: messageIn(chat, "for the other") })
      yield* eventually(
        Effect.flatMap(App.TestApp, ({ logLines }) => logLines),
        (lines) => lines.join("\n").includes("reader's lease lost")
      )
      assert.deepStrictEqual(yield* sql`select id from inbound_messages where chat_id = ${String(chat.id)}`, [])
      assert.strictEqual(updatesLeft(), 1)
      yield* sql`update channel_connections set claim_id = null, lease_until = null`
      yield* (yield* ChannelReaders).readUnread
      yield* eventually(sentAfterJobs(chat), (sent) => sent.length === 1)
    })
  )

  it.effect("Every owner's first connection is listed for readers before any owner's second", () =>
    Effect.gen(function* () {
      const { listUnread } = yield* ChannelConnections
      const [many, one] = [yield* createOwnerWithAgent("pro"), yield* createOwnerWithAgent("pro")]
      for (const { agent } of [many, one]) {
        yield* sql`update agents set config = jsonb_set(config, '{channels}', '["platformA", "platformB", "platformC"]')
          where id = ${agent.id}`
        for (const platform of agent.id === many.agent.id ? ["platformA", "platformB", "platformC"] : ["platformA"])
          yield* sql`
            insert into channel_connections (agent_id, platform, secrets_sealed, answers_bots, state, bot, transport,
              lease_until, updated_at)
            values (${agent.id}, ${platform}, '', false, 'connected', '{"id": "none", "name": "none"}', 'polling',
              ${agent.id === many.agent.id ? null : new Date(0)}, now())`
      }
      const owners = (yield* listUnread(2)).map(({ ownerId }) => ownerId)
      assert.sameMembers(owners, [many.user.id, one.user.id])
      yield* sql`delete from channel_connections where secrets_sealed = ''`
    })
  )

  it.effect("A conflict with another reader shows in the health, and the next check reads again", () =>
    Effect.gen(function* () {
      const { addUpdate, failNext } = yield* FakeTelegram
      const owner = yield* connectOwner()
      failNext("getUpdates", {
        kind: "status",
        status: 409,
        description: "Conflict: terminated by other getUpdates request"
      })
      yield* (yield* ChannelReaders).readUnread
      yield* eventually(readHealth(owner), (health) => health.includes("Conflict: terminated"))
      yield* sql`update channel_connections set checked_at = now() - interval '2 minutes'`
      yield* (yield* ChannelRecovery).repeatChecks
      yield* runChannelJobs
      assert.include(yield* readHealth(owner), '"state":"connected"')
      const chat = newChat()
      addUpdate({ message: messageIn(chat, "back") })
      yield* eventually(
        Effect.zipRight(
          Effect.flatMap(ChannelReaders, ({ readUnread }) => readUnread),
          sentAfterJobs(chat)
        ),
        (sent) => sent.length === 1
      )
    })
  )
})
