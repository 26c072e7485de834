import { GatewayUnavailable, readGateway, type GatewayEvent } from "@berth/infra/channels/discord/DiscordGateway"
import {
  decideAfterClose,
  type GatewaySession,
  makeGatewayAddress,
  selectIntents
} from "@berth/infra/channels/discord/GatewayProtocol"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Option, Redacted, Ref, Schedule, Stream, TestClock, TestServices } from "effect"
import { type FakeBot, type FakeDiscord, makeFakeDiscord } from "../../fakes/channels/FakeDiscord.ts"
import { readText } from "../../fakes/channels/JsonFields.ts"
import { eventually } from "../../support/Eventually.ts"

const basicIntents = selectIntents(0)

/** Reads like the worker: from the last session, again after a failed connection. Returns the read events. */
const startReader = (
  discord: FakeDiscord,
  bot: FakeBot,
  { intents = basicIntents, token = bot.token, session = Option.none<GatewaySession>() } = {}
) =>
  Effect.gen(function* () {
    const events: Array<GatewayEvent> = []
    const last = yield* Ref.make(session)
    const read = Effect.flatMap(last, (from) =>
      readGateway({
        token: Redacted.make(token),
        intents,
        session: from,
        findUrl: Effect.sync(() => discord.origin.replace(/^http/, "ws"))
      }).pipe(
        Stream.runForEach((event) =>
          Effect.zipRight(
            Ref.set(last, Option.some(event.session)),
            Effect.sync(() => events.push(event))
          )
        )
      )
    )
    const reading = yield* Effect.forkScoped(
      Effect.retry(read, {
        while: (failure) => failure._tag === "GatewayUnavailable",
        schedule: Schedule.spaced("10 millis")
      })
    )
    const contents = () =>
      events.filter(({ type }) => type === "MESSAGE_CREATE").map(({ data }) => readText(data, "content"))
    return { events, contents, reading, session: last }
  })

const connected = (discord: FakeDiscord, bot: FakeBot) =>
  eventually(
    Effect.sync(() => discord.isConnected(bot)),
    Boolean,
    { description: "a connection" }
  )

const direct = (content: string) => ({ channelId: "300000000000000001", content })

it.each([
  [4004, "Refused"],
  [4010, "Refused"],
  [4011, "Refused"],
  [4012, "Refused"],
  [4013, "Refused"],
  [4014, "Refused"],
  [4000, "Resume"],
  [4008, "Resume"],
  [1006, "Resume"],
  [4007, "Identify"],
  [4009, "Identify"],
  [1000, "Identify"]
])("decideAfterClose maps close code %i to %s", (code, expected) => {
  const end = decideAfterClose(code)
  assert.strictEqual(end._tag, expected)
  if (end._tag === "Refused") assert.match(end.reason, /(reset|remove|update|enable)/)
})

it("makeGatewayAddress requires an encrypted address, except on this machine", () => {
  const shown = (url: string) => Option.getOrNull(Option.map(makeGatewayAddress(url), ({ href }) => href))
  assert.strictEqual(shown("wss://gateway.discord.gg"), "wss://gateway.discord.gg/?v=10&encoding=json")
  assert.strictEqual(shown("ws://127.0.0.1:9/?v=9"), "ws://127.0.0.1:9/?v=10&encoding=json")
  assert.isNull(shown("ws://gateway.discord.gg"))
  assert.isNull(shown("https://gateway.discord.gg"))
  assert.isNull(shown("nowhere"))
})

it("selectIntents requests message content only where the application may", () => {
  assert.strictEqual(selectIntents(0) & (1 << 15), 0)
  assert.notStrictEqual(selectIntents(1 << 18) & (1 << 15), 0)
  assert.notStrictEqual(selectIntents(1 << 19) & (1 << 15), 0)
})

it.scopedLive("The gateway reader identifies, and reads messages in order", () =>
  Effect.gen(function* () {
    const discord = yield* makeFakeDiscord
    const bot = discord.addBot()
    const { contents } = yield* startReader(discord, bot)
    yield* connected(discord, bot)
    for (const content of ["one", "two", "three"]) discord.sendMessage(bot, direct(content))
    yield* eventually(Effect.sync(contents), (read) => read.length === 3)
    assert.deepEqual(contents(), ["one", "two", "three"])
    assert.deepEqual(
      discord.received.map(({ op }) => op),
      [2]
    )
  })
)

it.scopedLive("The gateway reader resumes after drops, without a lost or doubled message", () =>
  Effect.gen(function* () {
    const discord = yield* makeFakeDiscord
    const bot = discord.addBot()
    const { contents } = yield* startReader(discord, bot)
    yield* connected(discord, bot)
    const drops = [
      () => discord.cut(bot),
      () => discord.close(bot, 4000),
      () => discord.sendFrame(bot, 7, null),
      () => discord.sendFrame(bot, 9, true)
    ]
    for (const [index, drop] of drops.entries()) {
      discord.sendMessage(bot, direct(`before ${index}`))
      drop()
      discord.sendMessage(bot, direct(`during ${index}`))
      yield* connected(discord, bot)
      yield* eventually(Effect.sync(contents), (read) => read.length >= 2 * (index + 1))
    }
    assert.deepEqual(
      contents(),
      drops.flatMap((_, index) => [`before ${index}`, `during ${index}`])
    )
    assert.strictEqual(discord.received.filter(({ op }) => op === 2).length, 1)
  })
)

it.scopedLive("The gateway reader continues the session of a reader that ended", () =>
  Effect.gen(function* () {
    const discord = yield* makeFakeDiscord
    const bot = discord.addBot()
    const first = yield* startReader(discord, bot)
    yield* connected(discord, bot)
    discord.sendMessage(bot, direct("one"))
    yield* eventually(Effect.sync(first.contents), (read) => read.length === 1)
    yield* Fiber.interrupt(first.reading)
    discord.sendMessage(bot, direct("two"))
    const second = yield* startReader(discord, bot, { session: yield* first.session })
    yield* eventually(Effect.sync(second.contents), (read) => read.length > 0)
    assert.deepEqual(second.contents(), ["two"])
  })
)

it.scoped(
  "The gateway reader reconnects by itself after a stable connection, and identifies again after an invalid session",
  () =>
    Effect.gen(function* () {
      const discord = yield* makeFakeDiscord
      const bot = discord.addBot()
      const { contents, reading } = yield* startReader(discord, bot)
      const live = <A, E>(effect: Effect.Effect<A, E>) => TestServices.provideLive(effect)
      yield* live(connected(discord, bot))
      yield* TestClock.adjust("6 seconds")
      discord.cut(bot)
      discord.sendMessage(bot, direct("resumed"))
      yield* live(eventually(Effect.sync(contents), (read) => read.includes("resumed")))
      discord.sendFrame(bot, 9, false)
      discord.forgetSessions(bot)
      yield* Effect.repeat(TestClock.adjust("1 seconds"), {
        until: () => discord.isConnected(bot),
        schedule: Schedule.forever
      })
      yield* live(connected(discord, bot))
      discord.sendMessage(bot, direct("identified"))
      yield* live(eventually(Effect.sync(contents), (read) => read.includes("identified")))
      assert.isNull(reading.unsafePoll())
      assert.deepEqual(
        discord.received.map(({ op }) => op).filter((op) => op !== 1),
        [2, 6, 2]
      )
    })
)

it.scopedLive("The gateway reader sends heartbeats, and leaves a connection that does not acknowledge them", () =>
  Effect.gen(function* () {
    const discord = yield* makeFakeDiscord
    discord.state.heartbeatMs = 40
    const bot = discord.addBot()
    const { contents } = yield* startReader(discord, bot)
    yield* eventually(
      Effect.sync(() => discord.received.filter(({ op }) => op === 1).length),
      (beats) => beats >= 3
    )
    assert.strictEqual(discord.countConnections(), 1)
    discord.state.acknowledges = false
    yield* eventually(Effect.sync(discord.countConnections), (count) => count >= 2)
    discord.state.acknowledges = true
    discord.sendMessage(bot, direct("again"))
    yield* eventually(Effect.sync(contents), (read) => read.includes("again"))
    assert.strictEqual(discord.received.filter(({ op }) => op === 2).length, 1)
  })
)

it.scopedLive(
  "The gateway reader fails for good when Discord refuses the token, the intents or the content of messages",
  () =>
    Effect.gen(function* () {
      const discord = yield* makeFakeDiscord
      const bot = discord.addBot()
      const refusal = (options: Parameters<typeof startReader>[2]) =>
        Effect.flatMap(startReader(discord, bot, options), ({ reading }) =>
          Effect.map(Effect.flip(Fiber.join(reading)), (failure) =>
            failure._tag === "GatewayRefused" ? failure.reason : failure._tag
          )
        )
      assert.match(yield* refusal({ token: "MTE.wrong" }), /platformCBotToken/)
      assert.match(yield* refusal({ intents: 1 << 30 }), /intents/)
      assert.match(yield* refusal({ intents: selectIntents(1 << 18) }), /message content intent/)
      const { reading } = yield* startReader(discord, bot)
      yield* connected(discord, bot)
      discord.revokeToken(bot)
      const revoked = yield* Effect.flip(Fiber.join(reading))
      assert.strictEqual(revoked._tag, "GatewayRefused")
    })
)

it.scoped("The gateway reader fails when no greeting arrives, or the gateway is down", () =>
  Effect.gen(function* () {
    const discord = yield* makeFakeDiscord
    discord.state.greets = false
    const read = (findUrl: Effect.Effect<string>) =>
      readGateway({ token: Redacted.make("MTE"), intents: 0, session: Option.none(), findUrl }).pipe(
        Stream.runDrain,
        Effect.flip
      )
    const silent = yield* Effect.fork(read(Effect.succeed(discord.origin.replace(/^http/, "ws"))))
    yield* TestServices.provideLive(eventually(Effect.sync(discord.countConnections), (count) => count === 1))
    yield* TestClock.adjust("21 seconds")
    // The connection lasted; the reader makes the next one.
    yield* TestServices.provideLive(eventually(Effect.sync(discord.countConnections), (count) => count >= 2))
    yield* Fiber.interrupt(silent)
    assert.instanceOf(yield* read(Effect.succeed("ws://127.0.0.1:1")), GatewayUnavailable)
    assert.instanceOf(yield* read(Effect.succeed("http://gateway.discord.gg")), GatewayUnavailable)
  })
)

it.scopedLive("The gateway reader survives frames that are no JSON, and frames of unknown form", () =>
  Effect.gen(function* () {
    const discord = yield* makeFakeDiscord
    const bot = discord.addBot()
    const { contents } = yield* startReader(discord, bot)
    yield* connected(discord, bot)
    discord.sendFrame(bot, 99, { deep: [[[]]] })
    discord.sendText(bot, "no json")
    discord.sendText(bot, '{"op":"0"}')
    discord.sendMessage(bot, direct("still here"))
    yield* eventually(Effect.sync(contents), (read) => read.length > 0)
    assert.deepEqual(contents(), ["still here"])
    assert.strictEqual(discord.countConnections(), 1)
  })
)
