import type { InboundFile } from "@berth/domain/channels/ChannelMessage"
import type { OutgoingPart } from "@berth/domain/channels/ChannelPlatform"
import { assert, describe, it } from "@effect/vitest"
import {
  Duration,
  Effect,
  Either,
  FastCheck,
  Fiber,
  Option,
  Redacted,
  type Scope,
  TestClock,
  TestServices
} from "effect"
import { eventually } from "../support/Eventually.ts"
import {
  makeDiscordUnderTest,
  makeSecrets,
  makeTelegramUnderTest,
  makeWhatsAppUnderTest,
  type PlatformUnderTest,
  toConnected
} from "./MessagingPlatforms.ts"

const platforms: ReadonlyArray<readonly [string, Effect.Effect<PlatformUnderTest, never, Scope.Scope>]> = [
  ["Telegram", makeTelegramUnderTest],
  ["WhatsApp", makeWhatsAppUnderTest],
  ["Discord", makeDiscordUnderTest]
]

const connect = (platform: PlatformUnderTest) =>
  Effect.map(platform.adapter.verify(platform.secrets), (bot) => toConnected(bot, platform.secrets))

const tagOf = (call: Effect.Effect<unknown, { readonly _tag: string }>) =>
  Effect.orDie(Effect.map(Effect.flip(call), ({ _tag }) => _tag))

/** Requests for the bytes of a file, on every platform. */
const filePath = /\/(file|attachments)\//

const plainPart = (text: string): OutgoingPart => ({ formatted: text, plain: text })

const file = (id: string): InboundFile => ({
  kind: "photo",
  id,
  name: "file.png",
  mediaType: "image/png",
  bytes: null,
  seconds: null
})

const words = (text: string) => text.match(/[a-z0-9]+/gi) ?? []

const longAnswer = [
  "# A heading",
  ...Array.from(
    { length: 60 },
    (_, index) => `Paragraph ${index} has **bold** words and a [link](https://example.com/${index}).`
  ),
  "```ts",
  ...Array.from({ length: 200 }, (_, index) => `const value${index} = ${index}`),
  "```",
  "👩‍👩‍👧‍👦".repeat(900),
  "x".repeat(9_000)
].join("\n\n")

describe.each(platforms)("ChannelPlatform over %s", (name, make) => {
  const test = <E>(title: string, run: (platform: PlatformUnderTest) => Effect.Effect<unknown, E, Scope.Scope>) =>
    it.scopedLive(`ChannelPlatform over ${name} ${title}`, () => Effect.flatMap(make, run))

  test("finds the bot of a token, and activates it idempotently", (platform) =>
    Effect.gen(function* () {
      const bot = yield* connect(platform)
      assert.deepEqual(yield* platform.adapter.verify(platform.secrets), bot.bot)
      assert.notStrictEqual(bot.bot.name, "")
      yield* platform.adapter.activate(bot, Option.none())
      yield* platform.adapter.activate(bot, Option.none())
      yield* platform.adapter.deactivate(bot)
    }))

  test("refuses a wrong token and one that is revoked while in use, without disclosing it", (platform) =>
    Effect.gen(function* () {
      const wrong = yield* Effect.flip(platform.adapter.verify(makeSecrets("hunter2-token")))
      assert.strictEqual(wrong._tag, "ChannelTokenRefused")
      const bot = yield* connect(platform)
      platform.revokeToken()
      const to = { chatId: platform.chatId, replyTo: null, part: 0, idempotencyKey: "out_1/0" }
      const revoked = yield* Effect.flip(platform.adapter.send(bot, to, plainPart("Hello")))
      assert.strictEqual(revoked._tag, "ChannelTokenRefused")
      const shown = JSON.stringify([wrong, revoked, bot])
      assert.notInclude(shown, "hunter2")
      assert.notInclude(shown, Redacted.value(platform.secrets.token))
      assert.isFalse(
        platform.requests
          .flatMap(({ headers }) => Object.keys(headers))
          .some((header) => ["traceparent", "b3", "tracestate"].includes(header))
      )
    }))

  test("reports a platform that fails, is cut off, answers another form, or limits the rate", (platform) =>
    Effect.gen(function* () {
      const bot = yield* connect(platform)
      const to = { chatId: platform.chatId, replyTo: null, part: 0, idempotencyKey: "out_1/0" }
      const send = Effect.flip(platform.adapter.send(bot, to, plainPart("Hello")))
      for (const how of ["fails", "is cut", "answers HTML", "declares too much", "sends too much"] as const) {
        platform.trouble(how)
        assert.strictEqual((yield* send)._tag, "PlatformUnreachable", how)
        assert.strictEqual((yield* Effect.flip(platform.adapter.verify(platform.secrets)))._tag, "PlatformUnreachable")
      }
      for (const [how, leastMs] of [
        ["limits without a time", 1_000],
        ["limits", 5_000]
      ] as const) {
        platform.trouble(how)
        const limited = yield* send
        assert.isTrue(limited._tag === "PlatformThrottled" && Duration.toMillis(limited.retryAfter) >= leastMs, how)
      }
      platform.endTrouble()
    }))

  it.scoped(`ChannelPlatform over ${name} gives up on a request and on a download that do not end`, () =>
    Effect.gen(function* () {
      const platform = yield* make
      const bot = yield* TestServices.provideLive(connect(platform))
      const picture = file(platform.addFile(Buffer.alloc(8)))
      for (const how of ["hangs", "stalls"] as const)
        for (const [failure, path, limit] of [
          [tagOf(platform.adapter.verify(platform.secrets)), /^/, "20 seconds"],
          [tagOf(platform.adapter.download(bot, picture)), filePath, "60 seconds"]
        ] as const) {
          platform.trouble(how, 1, path)
          const count = () => platform.requests.filter((request) => path.test(request.path)).length
          const before = count()
          const failing = yield* Effect.fork(failure)
          yield* TestServices.provideLive(eventually(Effect.sync(count), (now) => now > before))
          yield* TestClock.adjust(limit)
          assert.strictEqual(yield* Fiber.join(failing), "PlatformUnreachable", how)
        }
    })
  )

  test("shows that it writes, sends to a chat, and reports one that refuses messages", (platform) =>
    Effect.gen(function* () {
      const bot = yield* connect(platform)
      const to = { chatId: platform.chatId, replyTo: null, part: 0, idempotencyKey: "out_1/0" }
      assert.notStrictEqual(yield* platform.adapter.send(bot, to, plainPart("Hello")), "")
      yield* platform.adapter.showTyping(bot, { chatId: platform.chatId, messageId: "wamid.1" })
      assert.deepEqual(platform.sentTexts(), ["Hello"])
      const gone = { ...to, chatId: platform.goneChatId, idempotencyKey: "out_2/0" }
      assert.strictEqual(
        (yield* Effect.flip(platform.adapter.send(bot, gone, plainPart("Hello"))))._tag,
        "PlatformRequestRefused"
      )
    }))

  test("splits an answer into parts that the platform accepts, without losing a word", (platform) =>
    Effect.gen(function* () {
      const bot = yield* connect(platform)
      const parts = platform.adapter.split(longAnswer)
      assert.isAbove(parts.length, 3)
      for (const [index, part] of parts.entries()) {
        assert.isAtMost(part.plain.length, platform.longestText)
        assert.isTrue(part.formatted.isWellFormed())
        assert.strictEqual((part.formatted.match(/^```/gm) ?? []).length % 2, 0)
        const to = { chatId: platform.chatId, replyTo: null, part: index, idempotencyKey: `out_1/${index}` }
        yield* platform.adapter.send(bot, to, part)
      }
      const sent = platform.sentTexts().join("\n")
      assert.deepEqual(words(sent).filter((word) => word.startsWith("value")).length, 200)
      assert.strictEqual((sent.match(/x/g) ?? []).length >= 9_000, true)
      assert.strictEqual((sent.match(/\u{1F469}/gu) ?? []).length, 1_800)
      assert.deepEqual(platform.adapter.split(longAnswer), parts)
      assert.deepEqual(platform.adapter.split(" \n\n "), [])
    }))

  it.effect.prop(
    `ChannelPlatform over ${name} splits any text within the limit`,
    [
      FastCheck.array(
        FastCheck.constantFrom(
          "**a**",
          "```",
          "\n",
          "\n\n",
          "# ",
          "`",
          "|x|",
          "*",
          "_",
          " ",
          // On a separate line: the language of a code block may be shortened and repeated.
          `\n${"y".repeat(1_500)}`,
          "🙂",
          "[l](https://e.x)",
          "~~~"
        ),
        { maxLength: 40 }
      )
    ],
    ([pieces]) =>
      Effect.scoped(
        Effect.map(make, ({ adapter, longestText }) => {
          const text = pieces.join("")
          const parts = adapter.split(text)
          assert.isTrue(parts.every(({ formatted, plain }) => plain.length <= longestText && formatted.trim() !== ""))
          assert.strictEqual(
            (
              parts
                .map(({ formatted }) => formatted)
                .join("")
                .match(/y/g) ?? []
            ).length,
            (text.match(/y/g) ?? []).length
          )
        })
      ),
    { fastCheck: { numRuns: 50 } }
  )

  test("receives authentic messages only", (platform) =>
    Effect.gen(function* () {
      const bot = yield* connect(platform)
      const request = platform.makeRequest("Hello agent")
      const received = platform.adapter.receive(bot, request)
      assert.isTrue(Either.isRight(received))
      const [message] = Either.isRight(received) ? received.right.messages : []
      assert.strictEqual(message?.content.text, "Hello agent")
      assert.isFalse(message?.content.senderIsBot)
      assert.deepEqual(platform.adapter.receive(bot, request), received)
      const altered = Buffer.from(Buffer.from(request.body).toString("utf8").replace("Hello", "Jello"))
      const forgeries = [
        ...(platform.signsBodies ? [altered, Buffer.alloc(0)] : []).map((body) => ({ ...request, body })),
        { ...request, headers: {} },
        {
          ...request,
          headers: Object.fromEntries(Object.keys(request.headers).map((header) => [header, "sha256=00"]))
        }
      ]
      for (const forged of forgeries) {
        const refused = platform.adapter.receive(bot, forged)
        assert.isTrue(Either.isLeft(refused) && refused.left._tag === "WebhookNotAuthentic")
      }
      for (const body of ["no json", "[]", '{"object":"page"}', "null"]) {
        const refused = platform.adapter.receive(bot, platform.signBody(body))
        assert.isTrue(Either.isLeft(refused) && refused.left._tag === "WebhookMalformed", body)
      }
    }))

  test("downloads files up to its limit", (platform) =>
    Effect.gen(function* () {
      const bot = yield* connect(platform)
      const bytes = Buffer.from("an image")
      assert.deepEqual(Buffer.from(yield* platform.adapter.download(bot, file(platform.addFile(bytes)))), bytes)
      const large = file(platform.addFile(Buffer.alloc(20 * 1024 * 1024 + 1)))
      assert.strictEqual((yield* Effect.flip(platform.adapter.download(bot, large)))._tag, "ChannelFileTooLarge")
      const lying = file(platform.addFile(bytes))
      for (const how of ["declares too much", "sends too much"] as const) {
        platform.trouble(how, 1, filePath)
        assert.strictEqual((yield* Effect.flip(platform.adapter.download(bot, lying)))._tag, "ChannelFileTooLarge", how)
      }
    }))
})
