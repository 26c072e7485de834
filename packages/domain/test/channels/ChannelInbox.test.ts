import type { ChannelConnection } from "@berth/domain/channels/ChannelConnection"
import { ChannelConnections } from "@berth/domain/channels/ChannelConnections"
import { ChannelInbox } from "@berth/domain/channels/ChannelInbox"
import type { ReceivedMessage } from "@berth/domain/channels/ChannelMessage"
import { ChannelPlatforms } from "@berth/domain/channels/ChannelPlatform"
import { floodLimits } from "@berth/domain/channels/ChannelPolicy"
import { Chats } from "@berth/domain/channels/Chats"
import { AgentLog } from "@berth/domain/instances/AgentLog"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, it } from "@effect/vitest"
import { Array, Effect, Layer } from "effect"

const connection: ChannelConnection = {
  agentId: AgentId.make("agt_1"),
  platform: "platformB",
  ownerId: UserId.make("usr_1"),
  agentName: "Ada",
  agentStatus: "running",
  selectedChannels: ["platformB"],
  revision: 1,
  answersBots: false,
  state: "connected",
  reason: null,
  checkedAt: null,
  bot: { id: "1", name: "bot", details: {} },
  transport: "webhook"
}

const makeMessage = (index: number): ReceivedMessage => ({
  chatId: String(index % 50),
  externalId: String(index),
  version: 0,
  sequence: index,
  content: {
    messageId: String(index),
    text: "hello",
    senderName: "Ada",
    senderIsBot: false,
    isGroup: false,
    command: null,
    files: []
  }
})

it.effect(
  "ChannelInbox.accept stores as many messages of a delivery as the limit per minute, and reports the rest once",
  () =>
    Effect.gen(function* () {
      const received: Array<string> = []
      const entries: Array<string> = []
      const ports = Layer.mergeAll(
        Layer.mock(ChannelConnections, {}),
        Layer.mock(Chats, {
          receive: (_, { externalId }) =>
            Effect.sync(() => received.push(externalId)).pipe(Effect.as("stored" as const)),
          mayNotify: () => Effect.succeed(true),
          enqueue: () => Effect.void
        }),
        Layer.mock(AgentLog, { append: (_, __, message) => Effect.asVoid(Effect.sync(() => entries.push(message))) }),
        Layer.mock(Outbox, { append: () => Effect.void }),
        Layer.succeed(ChannelPlatforms, new Map()),
        Layer.succeed(Transaction, { run: (effect) => effect })
      )
      const inbox = yield* Effect.provide(ChannelInbox, Layer.provide(ChannelInbox.Default, ports))
      assert.strictEqual(yield* inbox.accept(connection, Array.makeBy(20_000, makeMessage)), floodLimits.agent)
      assert.sameMembers(received, Array.makeBy(floodLimits.agent, String))
      assert.deepStrictEqual(entries, ["Channel platformB drops messages of chat 0: too many messages"])
    })
)
