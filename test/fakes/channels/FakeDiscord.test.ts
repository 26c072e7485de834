import { DiscordAPIError, REST } from "@discordjs/rest"
import { WebSocketManager, WebSocketShardEvents } from "@discordjs/ws"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { eventually } from "../../support/Eventually.ts"
import { makeFakeDiscord } from "./FakeDiscord.ts"
import { readText } from "./JsonFields.ts"

/** Discord's intents of servers' and direct messages. */
const intents = (1 << 9) | (1 << 12)

const makeRest = (origin: string, token: string) =>
  new REST({ version: "10", api: `${origin}/api`, retries: 0 }).setToken(token)

it.scopedLive("FakeDiscord serves the client of discord.js: users, commands, messages and refusals", () =>
  Effect.gen(function* () {
    const fake = yield* makeFakeDiscord
    const bot = fake.addBot()
    const rest = makeRest(fake.origin, bot.token)
    const call = <A>(run: () => Promise<A>) => Effect.promise(run)
    assert.strictEqual(readText(yield* call(() => rest.get("/users/@me")), "id"), bot.userId)
    yield* call(() =>
      rest.post(`/applications/${bot.applicationId}/commands`, { body: { name: "ask", description: "Ask" } })
    )
    assert.deepEqual(
      fake.commands.get(bot.applicationId)?.map(({ name }) => name),
      ["ask"]
    )
    yield* call(() => rest.post("/channels/300/messages", { body: { content: "Hello" } }))
    assert.deepEqual(
      fake.posted.map(({ content }) => content),
      ["Hello"]
    )
    const refusal = (path: `/${string}`, body: unknown, from = rest) =>
      Effect.map(Effect.flip(Effect.tryPromise(() => from.post(path, { body }))), ({ error }) =>
        error instanceof DiscordAPIError ? [error.status, error.code] : [0, 0]
      )
    assert.deepEqual(yield* refusal("/channels/300/messages", { content: "" }), [400, 50_006])
    assert.deepEqual(yield* refusal("/channels/300/messages", { content: "x".repeat(2_001) }), [400, 50_035])
    assert.deepEqual(yield* refusal("/channels/404/messages", { content: "Hello" }), [404, 10_003])
    const stranger = makeRest(fake.origin, "MTE.wrong.token")
    assert.deepEqual(yield* refusal("/channels/300/messages", { content: "Hello" }, stranger), [401, 0])
  })
)

it.scopedLive("FakeDiscord serves the gateway client of discord.js, which resumes after a cut connection", () =>
  Effect.gen(function* () {
    const fake = yield* makeFakeDiscord
    const bot = fake.addBot()
    const contents: Array<string> = []
    const manager = new WebSocketManager({
      token: bot.token,
      intents,
      rest: makeRest(fake.origin, bot.token)
    })
    manager.on(WebSocketShardEvents.Dispatch, ({ d, t }) => {
      if (String(t) === "MESSAGE_CREATE") contents.push(readText(d, "content"))
    })
    manager.on(WebSocketShardEvents.SocketError, () => undefined)
    yield* Effect.acquireRelease(
      Effect.promise(() => manager.connect()),
      () => Effect.promise(() => Promise.resolve(manager.destroy()))
    )
    const message = (content: string) => ({ channelId: "300", content })
    fake.sendMessage(bot, message("one"))
    yield* eventually(
      Effect.sync(() => contents.length),
      (count) => count === 1
    )
    fake.close(bot, 4000)
    fake.sendMessage(bot, message("two"))
    yield* eventually(
      Effect.sync(() => contents.length),
      (count) => count === 2
    )
    assert.deepEqual(contents, ["one", "two"])
    assert.deepEqual(
      fake.received.map(({ op }) => op).filter((op) => op !== 1),
      [2, 6]
    )
  })
)
