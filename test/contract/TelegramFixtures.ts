import { ChannelRecovery } from "@berth/domain/channels/ChannelRecovery"
import { InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { noUsdMicros } from "@berth/domain/shared/Money"
import { fakeAudioHeader } from "@berth/infra/backend/SpeechTest"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { assert } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as ChannelWorker from "../support/ChannelWorker.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

export const { FakeTelegram, runChannelJobs } = ChannelWorker

let messageIds = 0
let chatIds = 9_000

export const newChat = () => {
  chatIds += 1
  return { id: chatIds, type: "private" }
}
type Chat = ReturnType<typeof newChat>

export const messageIn = (chat: Chat, text: string, more: Readonly<Record<string, unknown>> = {}) => {
  messageIds += 1
  return {
    message_id: messageIds,
    date: 1_800_000_000,
    chat,
    from: { id: chat.id, is_bot: false, first_name: "Ada" },
    text,
    ...(text.startsWith("/")
      ? { entities: [{ type: "bot_command", offset: 0, length: text.split(" ")[0]?.length }] }
      : {}),
    ...more
  }
}

/** A voice message with a file at the Bot API. */
export const voiceIn = (chat: Chat, spoken: string, duration = 4) =>
  Effect.map(FakeTelegram, ({ addFile }) => {
    const message = messageIn(chat, "", { text: undefined })
    const id = `voice-${message.message_id}`
    addFile(id, new TextEncoder().encode(`${fakeAudioHeader}${spoken}`))
    return { ...message, voice: { file_id: id, file_unique_id: id, duration, mime_type: "audio/ogg", file_size: 100 } }
  })

export const put = (owner: OwnerWithAgent, json: unknown) =>
  App.web({ method: "PUT", path: `/api/agents/${owner.agent.id}/channels`, as: owner, json })

/** An owner whose agent is connected to the bot; disconnects others. */
export const connectOwner = (plan: "pro" | "starter" = "pro") =>
  Effect.gen(function* () {
    const { token } = yield* FakeTelegram
    const owner = yield* createOwnerWithAgent(plan)
    const answer = yield* put(owner, { platformA: { token } })
    assert.strictEqual(answer.status, 200, answer.text)
    yield* runChannelJobs
    return owner
  })

export const readHealth = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    const { text } = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/channels`, as: owner })
    const view: unknown = JSON.parse(text)
    return JSON.stringify(view)
  })

export const readLogs = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    return (yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/logs`, as: owner })).text
  })

let updateIds = 100

export const deliver = (
  owner: { readonly agent: { readonly id: AgentId } },
  update: Readonly<Record<string, unknown>>,
  secret?: string
) =>
  Effect.gen(function* () {
    const { webhook } = yield* FakeTelegram
    updateIds += 1
    return yield* App.web({
      method: "POST",
      path: `/api/webhooks/platformA/${owner.agent.id}`,
      json: { update_id: updateIds, ...update },
      headers: { "x-telegram-bot-api-secret-token": secret ?? webhook()?.secret ?? "" }
    })
  })

export const sentTo = (chat: Chat) =>
  Effect.map(FakeTelegram, ({ sent }) =>
    sent()
      .filter(({ chatId }) => chatId === String(chat.id))
      .map(({ text }) => text)
  )

/** Runs the waiting jobs; returns the sent texts of a chat. */
export const sentAfterJobs = (chat: Chat) => Effect.zipRight(runChannelJobs, sentTo(chat))

export const askedAfter = (before: number) =>
  Effect.gen(function* () {
    const { calls } = yield* AgentManagerTest
    return (yield* calls)
      .slice(before)
      .flatMap(({ method, turn }) => (method === "chat" && turn !== undefined ? [turn.message] : []))
  })
export const countCalls = Effect.flatMap(AgentManagerTest, ({ calls }) => Effect.map(calls, (all) => all.length))

export const unready = { chat: () => Stream.fail(new InstanceUnavailable({ reason: "it starts" })) }
export const freeCall = { own: false, promptMicros: noUsdMicros, answerMicros: noUsdMicros }

export const runResumed = (chat: Chat) =>
  Effect.gen(function* () {
    yield* sql`update channel_chats set paused_until = null where chat_id = ${String(chat.id)}`
    yield* sql`update inbound_messages set received_at = now() - interval '6 seconds' where chat_id = ${String(chat.id)}`
    yield* (yield* ChannelRecovery).resumeChats
    yield* runChannelJobs
  })
