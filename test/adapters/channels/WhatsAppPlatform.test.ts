import { isMediaAddress } from "@berth/infra/channels/whatsapp/WhatsAppClient"
import { classifyWhatsAppRejection } from "@berth/infra/channels/whatsapp/WhatsAppErrors"
import { splitForWhatsApp } from "@berth/infra/channels/whatsapp/WhatsAppMarkdown"
import { makeWhatsAppPlatform } from "@berth/infra/channels/whatsapp/WhatsAppPlatform"
import { FetchHttpClient } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Option, Redacted, type Scope } from "effect"
import { createServer } from "node:http"
import { makeFakeWhatsApp } from "../../fakes/channels/FakeWhatsApp.ts"
import { listenLocally } from "../../support/LocalServer.ts"
import { makePost, makeSecrets, toConnected } from "../../ports/MessagingPlatforms.ts"

const customer = "15551230000"

/** Connects an account at the fake; `appSecret` is the operator's. */
const connect = ({
  operatorSecret = true,
  secrets: more = {}
}: {
  readonly operatorSecret?: boolean
  readonly secrets?: Parameters<typeof makeSecrets>[1]
} = {}) =>
  Effect.gen(function* () {
    const fake = yield* makeFakeWhatsApp
    const account = fake.addAccount()
    const adapter = yield* makeWhatsAppPlatform({
      apiUrl: fake.apiUrl,
      appSecret: operatorSecret ? Option.some(Redacted.make(account.appSecret)) : Option.none(),
      verifyToken: Option.some(Redacted.make("operator-verify"))
    })
    const secrets = makeSecrets(account.token, more)
    const bot = toConnected(yield* adapter.verify(secrets), secrets)
    const receive = (value: unknown, secret = account.appSecret) => {
      const body = JSON.stringify(value)
      return adapter.receive(bot, makePost(body, { "x-hub-signature-256": fake.sign(body, secret) }))
    }
    const texts = (value: unknown) =>
      Either.match(receive(value), {
        onLeft: ({ _tag }) => [_tag],
        onRight: ({ messages }) => messages.map(({ content }) => content.text)
      })
    return { fake, account, adapter, secrets, bot, receive, texts }
  }).pipe(Effect.provide(FetchHttpClient.layer))

const test = <A, E>(title: string, run: () => Effect.Effect<A, E, Scope.Scope>) => it.scopedLive(title, run)

const to = (replyTo: string | null = null) => ({ chatId: customer, replyTo, part: 0, idempotencyKey: "out_1/0" })
const part = (text: string) => ({ formatted: text, plain: text })

test("The WhatsApp adapter finds number and business account by the token alone", () =>
  Effect.gen(function* () {
    const { account, adapter, bot, fake } = yield* connect()
    assert.strictEqual(bot.bot.id, account.phoneNumberId)
    assert.deepEqual(bot.bot.details, { businessAccountId: account.businessAccountId })
    assert.include(bot.bot.name, "Jasper's Market")
    fake.hideAccounts(account.token)
    const hidden = yield* Effect.flip(adapter.verify(makeSecrets(account.token)))
    assert.match(hidden.reason, /reaches no such phone number; assign/)
    const named = makeSecrets(account.token, { businessAccountId: account.businessAccountId })
    assert.strictEqual((yield* adapter.verify(named)).id, account.phoneNumberId)
    const other = yield* Effect.flip(adapter.verify({ ...named, phoneNumberId: "1" }))
    assert.strictEqual(other._tag, "ChannelTokenRefused")
    fake.removePermissions(account.token)
    const powerless = yield* Effect.flip(adapter.verify(makeSecrets(account.token)))
    assert.strictEqual(powerless._tag, "ChannelTokenRefused")
    assert.match(powerless.reason, /whatsapp_business_messaging/)
  }))

test("The WhatsApp adapter registers its webhook, which the platform verifies first", () =>
  Effect.gen(function* () {
    const { account, adapter, bot, fake, secrets } = yield* connect()
    const webhook = yield* listenLocally(
      createServer((request, response) => {
        const { searchParams } = new URL(request.url ?? "/", "http://localhost")
        const challenge = adapter.answerHandshake?.(secrets, searchParams) ?? Option.none()
        response.writeHead(Option.isSome(challenge) ? 200 : 401).end(Option.getOrElse(challenge, () => ""))
      })
    )
    const url = new URL("/api/webhooks/platformB/agt_1", webhook)
    yield* adapter.activate(bot, Option.some(url))
    assert.strictEqual(fake.callbacks.get(account.phoneNumberId)?.url, url.href)
    assert.isTrue(fake.subscribed.has(account.businessAccountId))
    yield* adapter.deactivate(bot)
    assert.strictEqual(fake.callbacks.size, 0)
    const nowhere = new URL("http://127.0.0.1:1/api/webhooks/platformB/agt_1")
    assert.strictEqual((yield* Effect.flip(adapter.activate(bot, Option.some(nowhere))))._tag, "PlatformRequestRefused")
  }))

test("The WhatsApp adapter needs an app secret, the agent's own or the operator's", () =>
  Effect.gen(function* () {
    const without = yield* connect({ operatorSecret: false })
    const refused = yield* Effect.flip(without.adapter.activate(without.bot, Option.none()))
    assert.isTrue(refused._tag === "PlatformRequestRefused" && refused.reason.includes("appSecret"))
    const message = without.fake.makeNotification(without.account, [without.fake.makeText(customer, "Hi")])
    assert.isTrue(Either.isLeft(without.receive(message)))
    const own = yield* connect({ secrets: { appSecret: Redacted.make("own-secret") } })
    const forOwn = own.fake.makeNotification(own.account, [own.fake.makeText(customer, "Hi")])
    assert.isTrue(Either.isRight(own.receive(forOwn, "own-secret")))
    assert.isTrue(Either.isLeft(own.receive(forOwn, own.account.appSecret)))
  }))

test("The WhatsApp adapter echoes the challenge of a subscription with a right verify token only", () =>
  Effect.gen(function* () {
    const { adapter, secrets } = yield* connect()
    const own = makeSecrets("EAAJ", { verifyToken: Redacted.make("own-verify") })
    const answer = (channelSecrets: typeof secrets, verifyToken: string, more: Readonly<Record<string, string>> = {}) =>
      Option.getOrNull(
        adapter.answerHandshake?.(
          channelSecrets,
          new URLSearchParams({
            "hub.mode": "subscribe",
            "hub.challenge": "1158201444",
            "hub.verify_token": verifyToken,
            ...more
          })
        ) ?? Option.none()
      )
    assert.strictEqual(answer(secrets, "operator-verify"), "1158201444")
    assert.strictEqual(answer(secrets, "webhook-secret"), "1158201444")
    assert.strictEqual(answer(own, "own-verify"), "1158201444")
    assert.isNull(answer(own, "operator-verify"))
    assert.isNull(answer(secrets, "wrong"))
    assert.isNull(answer(secrets, ""))
    assert.isNull(answer(secrets, "operator-verify", { "hub.mode": "unsubscribe" }))
    assert.isNull(Option.getOrNull(adapter.answerHandshake?.(secrets, new URLSearchParams()) ?? Option.none()))
  }))

test("The WhatsApp adapter refuses a reply after 24 hours without a message, at the first attempt", () =>
  Effect.gen(function* () {
    const { account, adapter, bot, fake } = yield* connect()
    fake.openWindow(account, customer)
    fake.advanceClock(23 * 60 * 60 * 1_000)
    yield* adapter.send(bot, to(), part("In time"))
    fake.advanceClock(2 * 60 * 60 * 1_000)
    const before = fake.requests.length
    const late = yield* Effect.flip(adapter.send(bot, to(), part("Too late")))
    assert.isTrue(late._tag === "PlatformRequestRefused" && late.reason.includes("24 hours"))
    assert.strictEqual(fake.requests.length, before + 1)
  }))

test("The WhatsApp adapter replies to the message, marks it as read, and shows that it writes", () =>
  Effect.gen(function* () {
    const { account, adapter, bot, fake } = yield* connect()
    const message = fake.makeText(customer, "Hi")
    fake.openWindow(account, customer)
    yield* adapter.showTyping(bot, { chatId: customer, messageId: message.id })
    assert.deepEqual(fake.read, [message.id])
    yield* adapter.send(bot, to(message.id), part("Hello"))
    assert.deepEqual(
      fake.sent.map(({ replyTo, text }) => ({ replyTo, text })),
      [{ replyTo: message.id, text: "Hello" }]
    )
  }))

test("The WhatsApp adapter reads every message of a delivery, of its own number only", () =>
  Effect.gen(function* () {
    const { account, fake, texts } = yield* connect()
    const one = fake.makeNotification(account, [fake.makeText(customer, "one"), fake.makeText("15550001111", "two")])
    const two = fake.makeNotification(account, [fake.makeText(customer, "three")])
    const foreign = fake.makeNotification({ ...account, phoneNumberId: "999" }, [fake.makeText(customer, "foreign")])
    const all = { ...one, entry: [...one.entry, ...two.entry, ...foreign.entry] }
    assert.deepEqual(texts(all), ["one", "two", "three"])
  }))

test("The WhatsApp adapter ignores statuses, reactions and unknown types, and reads the others of the delivery", () =>
  Effect.gen(function* () {
    const { account, fake, texts } = yield* connect()
    const base = { timestamp: "1772366400" }
    const delivery = fake.makeNotification(account, [
      { from: customer, id: "wamid.1", ...base, type: "reaction", reaction: { message_id: "wamid.0", emoji: "👍" } },
      { from: customer, id: "wamid.2", ...base, type: "unsupported", errors: [{ code: 131051 }] },
      { from: customer, id: "wamid.3", ...base, type: "text" },
      { from: customer, id: "", ...base, type: "text", text: { body: "without an id" } },
      fake.makeText(customer, "kept")
    ])
    assert.deepEqual(texts(delivery), ["kept"])
    const statuses = {
      object: "whatsapp_business_account",
      entry: [
        {
          id: account.businessAccountId,
          changes: [
            {
              field: "messages",
              value: {
                messaging_product: "whatsapp",
                metadata: { phone_number_id: account.phoneNumberId },
                statuses: [{ id: "wamid.1", status: "failed", recipient_id: customer, errors: [{ code: 131047 }] }]
              }
            },
            { field: "account_update", value: { event: "VERIFIED_ACCOUNT" } }
          ]
        }
      ]
    }
    assert.deepEqual(texts(statuses), [])
  }))

test("The WhatsApp adapter reads media, captions, choices and places", () =>
  Effect.gen(function* () {
    const { account, fake, receive } = yield* connect()
    const base = { from: customer, timestamp: "1772366400" }
    const media = { id: "77", mime_type: "image/jpeg", sha256: "x" }
    const received = receive(
      fake.makeNotification(account, [
        { ...base, id: "wamid.1", type: "image", image: { ...media, caption: "Look" } },
        {
          ...base,
          id: "wamid.2",
          type: "audio",
          audio: { ...media, mime_type: "audio/ogg; codecs=opus", voice: true }
        },
        { ...base, id: "wamid.3", type: "document", document: { ...media, filename: "../../etc/passwd" } },
        {
          ...base,
          id: "wamid.4",
          type: "interactive",
          interactive: { type: "button_reply", button_reply: { id: "b", title: "Yes" } }
        },
        { ...base, id: "wamid.5", type: "location", location: { latitude: 52.5, longitude: 13.4, name: "Berlin" } },
        { ...base, id: "wamid.6", type: "text", text: { body: "/reset" } }
      ])
    )
    const messages = Either.isRight(received) ? received.right.messages : []
    assert.deepEqual(
      messages.map(({ content: { command, files, text } }) => [
        text,
        command,
        files.map(({ kind, name }) => [kind, name])
      ]),
      [
        ["Look", null, [["photo", null]]],
        ["", null, [["voice", null]]],
        ["", null, [["document", "../../etc/passwd"]]],
        ["Yes", null, []],
        ["Berlin\n52.5, 13.4", null, []],
        ["/reset", "reset", []]
      ]
    )
    assert.deepEqual(
      messages.map(({ sequence }) => sequence - 1772366400000),
      [0, 1, 2, 3, 4, 5]
    )
  }))

test("The WhatsApp adapter sends its token to no foreign address of a file", () =>
  Effect.gen(function* () {
    const { adapter, bot, fake } = yield* connect()
    const seen: Array<string> = []
    const foreign = yield* listenLocally(
      createServer((request, response) => {
        seen.push(request.headers.authorization ?? "none")
        response.end("stolen")
      })
    )
    const file = { kind: "photo", id: "77", name: null, mediaType: null, bytes: null, seconds: null } as const
    for (const url of [foreign.href, "file:///etc/passwd", "no address"]) {
      fake.addMedia("77", { bytes: Buffer.from("x"), mimeType: "image/jpeg", url })
      assert.strictEqual((yield* Effect.flip(adapter.download(bot, file)))._tag, "PlatformUnreachable")
    }
    assert.deepEqual(seen, [])
  }))

it.each([
  ["https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1", true],
  ["https://mmg.whatsapp.net/file", true],
  ["https://graph.example/v25.0/file", true],
  ["http://lookaside.fbsbx.com/file", false],
  ["https://fbsbx.com.evil.example/file", false],
  ["https://evilfbsbx.com/file", false],
  ["https://127.0.0.1/file", false]
])("isMediaAddress decides about %s: %s", (url, expected) => {
  assert.strictEqual(isMediaAddress(new URL(url), new URL("https://graph.example/v25.0")), expected)
})

it.each([
  [401, 190, "token-rejected"],
  [401, 0, "token-rejected"],
  [400, 131047, "window-closed"],
  [400, 131026, "recipient-unreachable"],
  [400, 130429, "rate-limited"],
  [429, 0, "rate-limited"],
  [400, 80007, "rate-limited"],
  [400, 131056, "rate-limited"],
  [403, 10, "permission-missing"],
  [403, 200, "permission-missing"],
  [403, 131031, "account-restricted"],
  [500, 131000, "unavailable"],
  [503, 0, "unavailable"],
  [400, 131009, "invalid"],
  [400, 0, "invalid"]
] as const)("classifyWhatsAppRejection maps status %i with code %i to %s", (status, code, expected) => {
  assert.strictEqual(classifyWhatsAppRejection({ status, code }), expected)
})

describe("splitForWhatsApp", () => {
  it.each([
    ["**bold** and __bold__", "*bold* and *bold*"],
    ["*italic* and _italic_", "_italic_ and _italic_"],
    ["***both***", "*_both_*"],
    ["~~gone~~", "~gone~"],
    ["## A **heading** ##", "*A heading*"],
    ["# About C#", "*About C#*"],
    ["[Berth](https://example.com/a)", "Berth (https://example.com/a)"],
    ["![A cat](https://example.com/cat.png)", "A cat (https://example.com/cat.png)"],
    ["[https://example.com](https://example.com)", "https://example.com"],
    ["* one\n* two", "- one\n- two"],
    ["2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"],
    ["`**code**`", "`**code**`"],
    ["```ts\nconst a = **b**\n```", "```\nconst a = **b**\n```"],
    ["| a | b |\n|---|---|\n| 1 | 2 |", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```"]
  ])("splitForWhatsApp writes %j as %j", (markdown, expected) => {
    assert.strictEqual(splitForWhatsApp(markdown)[0]?.formatted, expected)
  })
})
