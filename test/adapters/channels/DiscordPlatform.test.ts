import type { ReceivedBatch } from "@berth/domain/channels/ChannelPlatform"
import { isAttachmentAddress } from "@berth/infra/channels/discord/DiscordClient"
import { classifyDiscordRejection } from "@berth/infra/channels/discord/DiscordErrors"
import { readMessage } from "@berth/infra/channels/discord/DiscordEvents"
import { splitForDiscord } from "@berth/infra/channels/discord/DiscordMarkdown"
import { makeDiscordPlatform } from "@berth/infra/channels/discord/DiscordPlatform"
import { applyAnswer, delayBefore, type RateLimits } from "@berth/infra/channels/discord/DiscordRateLimits"
import { FetchHttpClient, Headers } from "@effect/platform"
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Either, Fiber, Option, Redacted, Stream } from "effect"
import { makeFakeDiscord } from "../../fakes/channels/FakeDiscord.ts"
import { makePost, signedAt, makeSecrets, toConnected } from "../../ports/MessagingPlatforms.ts"
import { eventually } from "../../support/Eventually.ts"

const channelId = "300000000000000001"

const connect = (options?: { readonly hasMessageContent?: boolean }) =>
  Effect.gen(function* () {
    const fake = yield* makeFakeDiscord
    const account = fake.addBot(options)
    const adapter = yield* makeDiscordPlatform({ apiUrl: fake.apiUrl })
    const secrets = makeSecrets(account.token)
    const bot = toConnected(yield* adapter.verify(secrets), secrets)
    const receive = (value: unknown, signedBy = account, receivedAt = signedAt, timestamp = "1772366400") => {
      const body = JSON.stringify(value)
      const post = makePost(body, {
        "x-signature-ed25519": fake.signRequest(signedBy, body, timestamp),
        "x-signature-timestamp": timestamp
      })
      return adapter.receive(bot, { ...post, receivedAt })
    }
    const read = (cursor: string | null) => {
      const batches: Array<ReceivedBatch> = []
      return Effect.map(
        Effect.forkScoped(
          Stream.runForEach(adapter.read?.(bot, cursor) ?? Stream.empty, (batch) =>
            Effect.sync(() => batches.push(batch))
          )
        ),
        (reading) => ({
          batches,
          reading,
          texts: () => batches.flatMap(({ messages }) => messages.map(({ content }) => content.text))
        })
      )
    }
    return { fake, account, adapter, bot, receive, read }
  }).pipe(Effect.provide(FetchHttpClient.layer))

const address = (idempotencyKey: string, replyTo: string | null = null, part = 0) => ({
  chatId: channelId,
  replyTo,
  part,
  idempotencyKey
})
const part = (text: string) => ({ formatted: text, plain: text })

it.scopedLive("The Discord adapter registers /ask once, beside other commands of the application", () =>
  Effect.gen(function* () {
    const { account, adapter, bot, fake } = yield* connect()
    fake.commands.set(account.applicationId, [{ id: "1", name: "other", description: "Another command", options: [] }])
    yield* adapter.activate(bot, Option.none())
    yield* adapter.activate(bot, Option.none())
    assert.deepEqual(
      fake.commands.get(account.applicationId)?.map(({ name }) => name),
      ["other", "ask"]
    )
    assert.strictEqual(fake.requests.filter(({ method }) => method === "POST").length, 1)
  })
)

it.scopedLive("The Discord adapter accepts a signed interaction for five minutes around its timestamp", () =>
  Effect.gen(function* () {
    const { account, fake, receive } = yield* connect()
    const interaction = fake.makeInteraction(account, "Hi")
    for (const [seconds, isAccepted] of [
      [-301, false],
      [-299, true],
      [299, true],
      [301, false]
    ] as const) {
      const received = receive(interaction, account, DateTime.add(signedAt, { seconds }))
      assert.strictEqual(Either.isRight(received), isAccepted, String(seconds))
    }
    for (const timestamp of ["", "now", "1772366400.5", "-1", "1e9"])
      assert.isTrue(Either.isLeft(receive(interaction, account, signedAt, timestamp)), timestamp)
  })
)

it.scopedLive("The Discord adapter answers pings, and defers the answer to a slash command", () =>
  Effect.gen(function* () {
    const { account, fake, receive } = yield* connect()
    const pong = receive({ ...fake.makeInteraction(account, ""), type: 1 })
    assert.deepEqual(Either.isRight(pong) ? pong.right : null, {
      messages: [],
      response: { contentType: "application/json", body: '{"type":1}' }
    })
    const requested = receive(fake.makeInteraction(account, "How are you?"))
    assert.isTrue(Either.isRight(requested))
    if (Either.isLeft(requested)) return
    assert.strictEqual(requested.right.response?.body, '{"type":5}')
    assert.deepEqual(
      requested.right.messages.map(({ content }) => content.text),
      ["How are you?"]
    )
    const stranger = fake.addBot()
    const forged = receive(fake.makeInteraction(account, "Hi"), stranger)
    assert.isTrue(Either.isLeft(forged) && forged.left._tag === "WebhookNotAuthentic")
    const others = [
      fake.makeInteraction(stranger, "Hi"),
      fake.makeInteraction(account, "Hi", { type: 3 }),
      fake.makeInteraction(account, "Hi", { data: { id: "1", name: "other", type: 1 } })
    ]
    for (const other of others) {
      const refused = receive(other)
      assert.isTrue(Either.isLeft(refused) && refused.left._tag === "WebhookMalformed")
    }
  })
)

it.scopedLive(
  "The Discord adapter replaces the deferred answer, adds parts to it, and writes to the channel once it has expired",
  () =>
    Effect.gen(function* () {
      const { account, adapter, bot, fake, receive } = yield* connect()
      const interaction = fake.makeInteraction(account, "Hi")
      const requested = receive(interaction)
      const replyTo = Either.isRight(requested) ? (requested.right.messages[0]?.content.messageId ?? null) : null
      fake.answers.set(interaction.token, null)
      yield* adapter.showTyping(bot, { chatId: channelId, messageId: replyTo ?? "" })
      yield* adapter.send(bot, address("out_1/0", replyTo), part("First"))
      yield* adapter.send(bot, address("out_1/1", replyTo, 1), part("Second"))
      assert.deepEqual(fake.answers.get(interaction.token), ["First", "Second"])
      assert.deepEqual([fake.posted, fake.typing], [[], []])
      fake.expired.add(interaction.token)
      yield* adapter.send(bot, address("out_2/0", replyTo), part("Late"))
      assert.deepEqual(
        fake.posted.map(({ content, replyTo: to }) => [content, to]),
        [["Late", null]]
      )
    })
)

it.scopedLive("The Discord adapter sends a part once, however often it is repeated", () =>
  Effect.gen(function* () {
    const { adapter, bot, fake } = yield* connect()
    const send = (key: string, replyTo: string | null = null) => adapter.send(bot, address(key, replyTo), part("Hello"))
    const ids = yield* Effect.all([send("out_1/0", "42"), send("out_1/0", "42"), send("out_1/1")])
    assert.strictEqual(ids[0], ids[1])
    assert.deepEqual(
      fake.posted.map(({ replyTo }) => replyTo),
      ["42", null]
    )
    fake.trouble("is cut", 1)
    const lost = yield* Effect.flip(send("out_1/2"))
    assert.isTrue(lost._tag === "PlatformUnreachable" && !lost.mayHaveArrived)
  })
)

it.scopedLive("The Discord adapter mentions no one but the author of the message that it answers", () =>
  Effect.gen(function* () {
    const { adapter, bot, fake } = yield* connect()
    yield* adapter.send(bot, address("out_1/0"), part("@everyone <@1>"))
    const body = fake.requests.at(-1)?.body
    assert.deepInclude(body, { allowed_mentions: { parse: [], replied_user: true } })
  })
)

it.scopedLive("The Discord adapter waits for short rate limits, and sends nothing during long ones", () =>
  Effect.gen(function* () {
    const { adapter, bot, fake } = yield* connect()
    fake.trouble("limits briefly", 1)
    yield* adapter.send(bot, address("out_1/0"), part("After a pause"))
    assert.strictEqual(fake.posted.length, 1)
    fake.trouble("limits globally", 1)
    assert.strictEqual(
      (yield* Effect.flip(adapter.send(bot, address("out_1/1"), part("Hello"))))._tag,
      "PlatformThrottled"
    )
    const before = fake.requests.length
    assert.strictEqual(
      (yield* Effect.flip(adapter.send(bot, address("out_1/2"), part("Hello"))))._tag,
      "PlatformThrottled"
    )
    assert.strictEqual(
      (yield* Effect.flip(adapter.showTyping(bot, { chatId: channelId, messageId: "1" })))._tag,
      "PlatformThrottled"
    )
    assert.strictEqual(fake.requests.length, before)
  })
)

it("applyAnswer limits a route whose bucket is empty, and all routes of the bot by a global limit", () => {
  const one = { bot: "MTE", route: "POST channels/1/messages" }
  const other = { bot: "MTE", route: "POST channels/2/messages" }
  const stranger = { bot: "MTI", route: one.route }
  const answer = (limits: RateLimits, headers: Readonly<Record<string, string>>, retry?: number) =>
    applyAnswer(limits, {
      limited: one,
      now: 1_000,
      headers: Headers.fromInput(headers),
      retrySeconds: Option.fromNullable(retry)
    })
  const none: RateLimits = new Map()
  const empty = answer(none, { "x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "0.5" })
  assert.deepEqual(
    [one, other, stranger].map((limited) => delayBefore(empty, limited, 1_100)),
    [400, 0, 0]
  )
  assert.strictEqual(delayBefore(empty, one, 2_000), 0)
  assert.strictEqual(answer(none, { "x-ratelimit-remaining": "4", "x-ratelimit-reset-after": "9" }), none)
  const shared = answer(none, { "x-ratelimit-scope": "shared" }, 2)
  assert.deepEqual(
    [one, other, stranger].map((limited) => delayBefore(shared, limited, 1_000)),
    [2_000, 0, 0]
  )
  const global = answer(none, { "x-ratelimit-global": "true" }, 3)
  assert.deepEqual(
    [one, other, stranger].map((limited) => delayBefore(global, limited, 1_000)),
    [3_000, 3_000, 0]
  )
})

it("readMessage reads direct messages, and those of servers that mention the bot or reply to it", () => {
  const bot = "900000000000000001"
  const message = (more: Readonly<Record<string, unknown>>) => ({
    id: "1234567890123456789",
    channel_id: channelId,
    type: 0,
    author: { id: "200000000000000001", username: "ada", global_name: "Ada" },
    content: "Hello",
    timestamp: "2026-03-01T12:00:00.000000+00:00",
    mentions: [],
    attachments: [],
    ...more
  })
  const text = (more: Readonly<Record<string, unknown>>) =>
    Option.getOrNull(Option.map(readMessage(message(more), bot), ({ content }) => content.text))
  const guild = { guild_id: "7" }
  assert.strictEqual(text({}), "Hello")
  assert.isNull(text(guild))
  assert.strictEqual(text({ ...guild, content: `<@${bot}> Hello <@!${bot}>`, mentions: [{ id: bot }] }), "Hello")
  assert.strictEqual(text({ ...guild, type: 19, referenced_message: { id: "5", author: { id: bot } } }), "Hello")
  assert.isNull(text({ ...guild, type: 19, referenced_message: { id: "5", author: { id: "6" } } }))
  assert.isNull(text({ ...guild, mention_everyone: true }))
  assert.isNull(text({ author: { id: bot, username: "berth", bot: true } }))
  assert.isNull(text({ webhook_id: "8" }))
  assert.isNull(text({ type: 7 }))
  assert.isNull(text({ content: `<@${bot}>`, mentions: [{ id: bot }] }))
  assert.isNull(Option.getOrNull(readMessage({ id: 5 }, bot)))
  const other = readMessage(message({ author: { id: "2", username: "other", bot: true } }), bot)
  assert.isTrue(Option.exists(other, ({ content }) => content.senderIsBot && content.senderName === "other"))
})

it.scopedLive("The Discord adapter reads the gateway from a cursor, across readers", () =>
  Effect.gen(function* () {
    const { account, fake, read } = yield* connect()
    const first = yield* read(null)
    yield* eventually(
      Effect.sync(() => fake.isConnected(account)),
      Boolean
    )
    fake.sendMessage(account, { channelId, content: "one" })
    fake.sendMessage(account, { channelId, content: "not for the bot", guildId: "7" })
    fake.sendMessage(account, {
      channelId,
      content: `<@${account.userId}> two`,
      guildId: "7",
      mentions: [account.userId],
      attachments: [
        { id: "1", filename: "a.png", size: 3, url: `${fake.origin}/attachments/1/2/a.png`, content_type: "image/png" }
      ]
    })
    yield* eventually(Effect.sync(first.texts), (texts) => texts.length === 2)
    assert.deepEqual(first.texts(), ["one", "two"])
    assert.strictEqual(first.batches.at(-1)?.messages[0]?.content.files[0]?.kind, "photo")
    yield* Fiber.interrupt(first.reading)
    fake.sendMessage(account, { channelId, content: "three" })
    const second = yield* read(first.batches.at(-1)?.cursor ?? null)
    yield* eventually(Effect.sync(second.texts), (texts) => texts.length > 0)
    assert.deepEqual(second.texts(), ["three"])
    assert.strictEqual(fake.received.filter(({ op }) => op === 2).length, 1)
    assert.notInclude(JSON.stringify(second.batches), account.token)
  })
)

it.scopedLive("The Discord adapter acknowledges slash commands of the gateway before earlier messages are stored", () =>
  Effect.gen(function* () {
    const { account, adapter, bot, fake, read } = yield* connect()
    const { batches, texts } = yield* read(null)
    yield* eventually(
      Effect.sync(() => fake.isConnected(account)),
      Boolean
    )
    const interaction = fake.makeInteraction(account, "What now?")
    fake.publish(account, "INTERACTION_CREATE", interaction)
    fake.publish(account, "INTERACTION_CREATE", interaction)
    yield* eventually(Effect.sync(texts), (read) => read.length === 2)
    const [first, second] = batches.flatMap(({ messages }) => messages)
    assert.strictEqual(first?.externalId, second?.externalId)
    assert.isTrue(fake.answers.has(interaction.token))
    yield* adapter.send(bot, address("out_1/0", first?.content.messageId ?? null), part("This."))
    assert.deepEqual(fake.answers.get(interaction.token), ["This."])
  })
)

it.scopedLive("The Discord adapter stops reading with a sentence when the token or an intent is refused", () =>
  Effect.gen(function* () {
    const { account, fake, read } = yield* connect({ hasMessageContent: true })
    const running = yield* read(null)
    yield* eventually(
      Effect.sync(() => fake.isConnected(account)),
      Boolean
    )
    fake.revokeToken(account)
    const revoked = yield* Effect.flip(Fiber.join(running.reading))
    assert.isTrue(revoked._tag === "ChannelTokenRefused" && revoked.reason.includes("platformCBotToken"))
    const other = yield* connect({ hasMessageContent: true })
    other.fake.removeMessageContent(other.account)
    const disallowed = yield* Effect.flip(Fiber.join((yield* other.read(null)).reading))
    assert.isTrue(
      disallowed._tag === "ChannelTokenRefused" && disallowed.reason.includes("enable it on the bot's page")
    )
    other.fake.state.startsRemaining = 0
    const exhausted = yield* Effect.flip(Fiber.join((yield* other.read(null)).reading))
    assert.strictEqual(exhausted._tag, "PlatformThrottled")
    other.fake.trouble("fails")
    const down = yield* Effect.flip(Fiber.join((yield* other.read(null)).reading))
    assert.strictEqual(down._tag, "PlatformUnreachable")
  })
)

it.each([
  ["https://cdn.discordapp.com/attachments/1/2/a.png?ex=1", true],
  ["https://media.discordapp.net/attachments/1/2/a.png", true],
  ["http://cdn.discordapp.com/a.png", false],
  ["https://cdn.discordapp.com.evil.example/a.png", false],
  ["https://169.254.169.254/latest/meta-data", false]
])("isAttachmentAddress decides about %s: %s", (url, expected) => {
  assert.strictEqual(isAttachmentAddress(new URL(url), new URL("https://discord.com/api/v10")), expected)
})

it.each([
  [401, 0, "token-rejected"],
  [401, 50027, "interaction-expired"],
  [404, 10062, "interaction-expired"],
  [404, 10015, "interaction-expired"],
  [403, 50007, "recipient-unreachable"],
  [404, 10003, "recipient-unreachable"],
  [429, 0, "rate-limited"],
  [500, 0, "unavailable"],
  [400, 50035, "invalid"]
] as const)("classifyDiscordRejection maps status %i with code %i to %s", (status, code, expected) => {
  assert.strictEqual(classifyDiscordRejection({ status, code }), expected)
})

it.each([
  ["# Title\n### Small", "# Title\n### Small"],
  ["#### **Tiny** one", "**Tiny one**"],
  ["a\n\n---\n\nb", "a\n\n\n\nb"],
  ["![A cat](https://example.com/cat.png)", "[A cat](https://example.com/cat.png)"],
  ["| a |\n|---|", "```\n| a |\n|---|\n```"],
  ["```md\n#### kept\n```", "```md\n#### kept\n```"]
])("splitForDiscord writes %j as %j", (markdown, expected) => {
  assert.strictEqual(splitForDiscord(markdown)[0]?.formatted, expected)
})

it.scopedLive("The Discord adapter downloads attachments from Discord's hosts only", () =>
  Effect.gen(function* () {
    const { adapter, bot, fake } = yield* connect()
    const before = fake.requests.length
    const file = {
      kind: "photo",
      id: "http://169.254.169.254/",
      name: null,
      mediaType: null,
      bytes: 3,
      seconds: null
    } as const
    assert.strictEqual((yield* Effect.flip(adapter.download(bot, file)))._tag, "PlatformUnreachable")
    const large = { ...file, bytes: 50 * 1024 * 1024 }
    assert.strictEqual((yield* Effect.flip(adapter.download(bot, large)))._tag, "ChannelFileTooLarge")
    assert.strictEqual(fake.requests.length, before)
    assert.isTrue(Redacted.isRedacted(bot.secrets.token))
  })
)
