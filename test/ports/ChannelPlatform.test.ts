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

const connect = (given: PlatformUnderTest) =>
  Effect.map(given.adapter.verify(given.secrets), (bot) => toConnected(bot, given.secrets))

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
  const test = <E>(title: string, run: (given: PlatformUnderTest) => Effect.Effect<unknown, E, Scope.Scope>) =>
    it.scopedLive(`ChannelPlatform over ${name} ${title}`, () => Effect.flatMap(make, run))

  test("finds the bot of a token, and activates it idempotently", (given) =>
    Effect.gen(function* () {
      const bot = yield* connect(given)
      assert.deepEqual(yield* given.adapter.verify(given.secrets), bot.bot)
      assert.notStrictEqual(bot.bot.name, "")
      yield* given.adapter.activate(bot, Option.none())
      yield* given.adapter.activate(bot, Option.none())
      yield* given.adapter.deactivate(bot)
    }))

  test("refuses a wrong token and one that is revoked while in use, without disclosing it", (given) =>
    Effect.gen(function* () {
      const wrong = yield* Effect.flip(given.adapter.verify(makeSecrets("hunter2-token")))
      assert.strictEqual(wrong._tag, "ChannelTokenRefused")
      const bot = yield* connect(given)
      given.revokeToken()
      const to = { chatId: given.chatId, replyTo: null, part: 0, idempotencyKey: "out_1/0" }
      const revoked = yield* Effect.flip(given.adapter.send(bot, to, plainPart("Hello")))
      assert.strictEqual(revoked._tag, "ChannelTokenRefused")
      const shown = JSON.stringify([wrong, revoked, bot])
      assert.notInclude(shown, "hunter2")
      assert.notInclude(shown, Redacted.value(given.secrets.token))
      assert.isFalse(
        given.requests
          .flatMap(({ headers }) => Object.keys(headers))
          .some((header) => ["traceparent", "b3", "tracestate"].includes(header))
      )
    }))

  test("reports a platform that fails, is cut off, answers another form, or limits the rate", (given) =>
    Effect.gen(function* () {
      const bot = yield* connect(given)
      const to = { chatId: given.chatId, replyTo: null, part: 0, idempotencyKey: "out_1/0" }
      const send = Effect.flip(given.adapter.send(bot, to, plainPart("Hello")))
      for (const how of ["fails", "is cut", "answers HTML", "declares too much", "sends too much"] as const) {
        given.trouble(how)
        assert.strictEqual((yield* send)._tag, "PlatformUnreachable", how)
        assert.strictEqual((yield* Effect.flip(given.adapter.verify(given.secrets)))._tag, "PlatformUnreachable")
      }
      for (const [how, leastMs] of [
        ["limits without a time", 1_000],
        ["limits", 5_000]
      ] as const) {
        given.trouble(how)
        const limited = yield* send
        assert.isTrue(limited._tag === "PlatformThrottled" && Duration.toMillis(limited.retryAfter) >= leastMs, how)
      }
      given.endTrouble()
    }))

  it.scoped(`ChannelPlatform over ${name} gives up on a request and on a download that do not end`, () =>
    Effect.gen(function* () {
      const given = yield* make
      const bot = yield* TestServices.provideLive(connect(given))
      const picture = file(given.addFile(Buffer.alloc(8)))
      for (const how of ["hangs", "stalls"] as const)
        for (const [failure, path, limit] of [
          [tagOf(given.adapter.verify(given.secrets)), /^/, "20 seconds"],
          [tagOf(given.adapter.download(bot, picture)), filePath, "60 seconds"]
        ] as const) {
          given.trouble(how, 1, path)
          const count = () => given.requests.filter((request) => path.test(request.path)).length
          const before = count()
          const failing = yield* Effect.fork(failure)
          yield* TestServices.provideLive(eventually(Effect.sync(count), (now) => now > before))
          yield* TestClock.adjust(limit)
          assert.strictEqual(yield* Fiber.join(failing), "PlatformUnreachable", how)
        }
    })
  )

  test("shows that it writes, sends to a chat, and reports one that refuses messages", (given) =>
    Effect.gen(function* () {
      const bot = yield* connect(given)
      const to = { chatId: given.chatId, replyTo: null, part: 0, idempotencyKey: "out_1/0" }
      assert.notStrictEqual(yield* given.adapter.send(bot, to, plainPart("Hello")), "")
      yield* given.adapter.showTyping(bot, { chatId: given.chatId, messageId: "wamid.1" })
      assert.deepEqual(given.sentTexts(), ["Hello"])
      const gone = { ...to, chatId: given.goneChatId, idempotencyKey: "out_2/0" }
      assert.strictEqual(
        (yield* Effect.flip(given.adapter.send(bot, gone, plainPart("Hello"))))._tag,
        "PlatformRequestRefused"
      )
    }))

  test("splits an answer into parts that the platform accepts, without losing a word", (given) =>
    Effect.gen(function* () {
      const bot = yield* connect(given)
      const parts = given.adapter.split(longAnswer)
      assert.isAbove(parts.length, 3)
      for (const [index, part] of parts.entries()) {
        assert.isAtMost(part.plain.length, given.longestText)
        assert.isTrue(part.formatted.isWellFormed())
        assert.strictEqual((part.formatted.match(/^```/gm) ?? []).length % 2, 0)
        const to = { chatId: given.chatId, replyTo: null, part: index, idempotencyKey: `out_1/${index}` }
        yield* given.adapter.send(bot, to, part)
      }
      const sent = given.sentTexts().join("\n")
      assert.deepEqual(words(sent).filter((word) => word.startsWith("value")).length, 200)
      assert.strictEqual((sent.match(/x/g) ?? []).length >= 9_000, true)
      assert.strictEqual((sent.match(/\u{1F469}/gu) ?? []).length, 1_800)
      assert.deepEqual(given.adapter.split(longAnswer), parts)
      assert.deepEqual(given.adapter.split(" \n\n "), [])
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

  test("receives authentic messages only", (given) =>
    Effect.gen(function* () {
      const bot = yield* connect(given)
      const request = given.makeRequest("Hello agent")
      const received = given.adapter.receive(bot, request)
      assert.isTrue(Either.isRight(received))
      const [message] = Either.isRight(received) ? received.right.messages : []
      assert.strictEqual(message?.content.text, "Hello agent")
      assert.isFalse(message?.content.senderIsBot)
      assert.deepEqual(given.adapter.receive(bot, request), received)
      const altered = Buffer.from(Buffer.from(request.body).toString("utf8").replace("Hello", "Jello"))
      const forgeries = [
        ...(given.signsBodies ? [altered, Buffer.alloc(0)] : []).map((body) => ({ ...request, body })),
        { ...request, headers: {} },
        {
          ...request,
          headers: Object.fromEntries(Object.keys(request.headers).map((header) => [header, "sha256=00"]))
        }
      ]
      for (const forged of forgeries) {
        const refused = given.adapter.receive(bot, forged)
        assert.isTrue(Either.isLeft(refused) && refused.left._tag === "WebhookNotAuthentic")
      }
      for (const body of ["no json", "[]", '{"object":"page"}', "null"]) {
        const refused = given.adapter.receive(bot, given.signBody(body))
        assert.isTrue(Either.isLeft(refused) && refused.left._tag === "WebhookMalformed", body)
      }
    }))

  test("downloads files up to its limit", (given) =>
    Effect.gen(function* () {
      const bot = yield* connect(given)
      const bytes = Buffer.from("an image")
      assert.deepEqual(Buffer.from(yield* given.adapter.download(bot, file(given.addFile(bytes)))), bytes)
      const large = file(given.addFile(Buffer.alloc(20 * 1024 * 1024 + 1)))
      assert.strictEqual((yield* Effect.flip(given.adapter.download(bot, large)))._tag, "ChannelFileTooLarge")
      const lying = file(given.addFile(bytes))
      for (const how of ["declares too much", "sends too much"] as const) {
        given.trouble(how, 1, filePath)
        assert.strictEqual((yield* Effect.flip(given.adapter.download(bot, lying)))._tag, "ChannelFileTooLarge", how)
      }
    }))
})
