import { failureNotice, floodLimits, refusalNotices, refusalReasons } from "@berth/domain/channels/ChannelPolicy"
import { fakeAudioHeader } from "@berth/infra/backend/SpeechTest"
import { ChannelReaders } from "@berth/domain/channels/ChannelReaders"
import { Chats } from "@berth/domain/channels/Chats"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type FakeDiscord, makeFakeDiscord } from "../fakes/channels/FakeDiscord.ts"
import { type FakeWhatsApp, makeFakeWhatsApp } from "../fakes/channels/FakeWhatsApp.ts"
import { readText } from "../fakes/channels/JsonFields.ts"
import * as ChannelWorker from "../support/ChannelWorker.ts"
import { eventually } from "../support/Eventually.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent, lapseSubscription, type OwnerWithAgent } from "./OwnerFixtures.ts"

class WhatsApp extends Context.Tag("@berth/test/WhatsApp")<WhatsApp, FakeWhatsApp>() {}
class Discord extends Context.Tag("@berth/test/Discord")<Discord, FakeDiscord>() {}

const { runChannelJobs } = ChannelWorker

/** The application and its worker with fakes of both platforms, at a public name. */
const Platforms = Layer.unwrapScoped(
  Effect.gen(function* () {
    const whatsApp = yield* makeFakeWhatsApp
    const discord = yield* makeFakeDiscord
    return ChannelWorker.layer({
      appUrl: "https://berth.example",
      platformB: { apiUrl: whatsApp.apiUrl, appSecret: "operator-secret" },
      platformCUrl: discord.apiUrl
    }).pipe(Layer.merge(Layer.succeed(WhatsApp, whatsApp)), Layer.merge(Layer.succeed(Discord, discord)))
  })
)

const put = (owner: OwnerWithAgent, json: unknown) =>
  Effect.gen(function* () {
    const answer = yield* App.web({ method: "PUT", path: `/api/agents/${owner.agent.id}/channels`, as: owner, json })
    assert.strictEqual(answer.status, 200, answer.text)
    yield* runChannelJobs
  })

const readChannels = (owner: OwnerWithAgent) =>
  Effect.gen(function* () {
    return (yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/channels`, as: owner })).text
  })

const connectWhatsApp = (secrets: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const { webUrl } = yield* App.TestApp
    const fake = yield* WhatsApp
    fake.resolveCallbacksTo(new URL(webUrl))
    const account = { ...fake.addAccount(), appSecret: secrets.appSecret ?? "operator-secret" }
    const owner = yield* createOwnerWithAgent("pro")
    yield* put(owner, { platformB: { token: account.token, ...secrets } })
    const path = `/api/webhooks/platformB/${owner.agent.id}`
    return { account, fake, owner, path, url: new URL(path, webUrl) }
  })

const connectDiscord = Effect.gen(function* () {
  const { webUrl } = yield* App.TestApp
  const fake = yield* Discord
  const bot = fake.addBot()
  const owner = yield* createOwnerWithAgent("pro")
  yield* put(owner, { platformC: { token: bot.token } })
  return { bot, fake, owner, url: new URL(`/api/webhooks/platformC/${owner.agent.id}`, webUrl) }
})

const countInbound = ({ agent }: OwnerWithAgent) =>
  Effect.gen(function* () {
    const [row] = yield* sql<{
      count: number
    }>`select count(*)::int as count from inbound_messages where agent_id = ${agent.id}`
    return row?.count ?? 0
  })

const customer = "15551230000"

layer(Platforms, { excludeTestServices: true })("Webhooks of WhatsApp and Discord", (it) => {
  it.effect("A WhatsApp agent has a verified callback of its own, and answers messages", () =>
    Effect.gen(function* () {
      const { account, fake, owner, path, url } = yield* connectWhatsApp()
      assert.strictEqual(fake.callbacks.get(account.phoneNumberId)?.url, `https://berth.example${path}`)
      const view = yield* readChannels(owner)
      assert.include(view, '"state":"connected"')
      assert.notInclude(view, account.token)
      assert.notInclude(view, fake.callbacks.get(account.phoneNumberId)?.verifyToken ?? "none")
      assert.strictEqual(yield* fake.deliver(account, url, [fake.makeText(customer, "What is up?")]), 200)
      yield* runChannelJobs
      const sent = fake.sent.filter(({ from }) => from === account.phoneNumberId)
      assert.deepEqual(
        sent.map(({ text, to }) => [to, text]),
        [[customer, "Echo: What is up?"]]
      )
    })
  )

  it.effect("A voice message of WhatsApp reaches the agent as text", () =>
    Effect.gen(function* () {
      const { account, fake, url } = yield* connectWhatsApp()
      fake.addMedia("77001", {
        bytes: new TextEncoder().encode(`${fakeAudioHeader}Ahoy`),
        mimeType: "audio/ogg; codecs=opus"
      })
      const audio = { id: "77001", mime_type: "audio/ogg; codecs=opus", voice: true }
      yield* fake.deliver(account, url, [fake.makeText(customer, "", { type: "audio", text: undefined, audio })])
      yield* runChannelJobs
      assert.deepEqual(
        fake.sent.filter(({ from }) => from === account.phoneNumberId).map(({ text }) => text),
        ["Echo: [voice message, transcribed] Ahoy"]
      )
    })
  )

  it.effect("Under a plan without the channel a chat receives one notice, and no turn begins", () =>
    Effect.gen(function* () {
      const { account, fake, owner, url } = yield* connectWhatsApp()
      yield* lapseSubscription(owner)
      for (const text of ["one", "two"]) {
        assert.strictEqual(yield* fake.deliver(account, url, [fake.makeText(customer, text)]), 200)
        yield* runChannelJobs
      }
      assert.deepEqual(
        fake.sent.filter(({ from }) => from === account.phoneNumberId).map(({ text }) => text),
        [refusalNotices.plan]
      )
      const entries = yield* sql`
        select count(*)::int as count from agent_log_entries
        where message like ${`%${refusalReasons.plan}`} and agent_id = ${owner.agent.id}`
      assert.deepStrictEqual(entries, [{ count: 1 }])
    })
  )

  it.effect(
    "An unclaimed agent answers on the platform of its token, and after the claim under the claimer's plan",
    () =>
      Effect.gen(function* () {
        const { webUrl } = yield* App.TestApp
        const fake = yield* WhatsApp
        fake.resolveCallbacksTo(new URL(webUrl))
        const account = { ...fake.addAccount(), appSecret: "operator-secret" }
        const provisioned = yield* App.web({
          method: "POST",
          path: "/api/provision",
          json: { platformBToken: account.token }
        })
        const [agent] = yield* sql<{ readonly id: string }>`
        update agents set status = 'running' where owner_id = ${String(provisioned.body["userId"])} returning id`
        const path = `/api/webhooks/platformB/${agent?.id}`
        yield* runChannelJobs
        const send = (text: string) =>
          Effect.zipRight(fake.deliver(account, new URL(path, webUrl), [fake.makeText(customer, text)]), runChannelJobs)
        const sent = () => fake.sent.filter(({ from }) => from === account.phoneNumberId).map(({ text }) => text)
        yield* send("Are you there?")
        assert.deepStrictEqual(sent(), ["Echo: Are you there?"])
        const code = String(provisioned.headers["x-berth-claim-code"])
        const claimed = yield* App.web({
          method: "POST",
          path: "/api/agents/claim",
          as: yield* App.signInNewUser(),
          json: { code }
        })
        assert.strictEqual(claimed.status, 200, claimed.text)
        yield* send("And now?")
        assert.deepStrictEqual(sent(), ["Echo: Are you there?", refusalNotices.plan])
      })
  )

  it.effect("A delivery of WhatsApp that arrives 100 times at once is stored and answered once", () =>
    Effect.gen(function* () {
      const { account, fake, owner, url } = yield* connectWhatsApp()
      const messages = [fake.makeText(customer, "Only once"), fake.makeText("15550001111", "And this")]
      const statuses = yield* Effect.all(
        Array.from({ length: 100 }, () => fake.deliver(account, url, messages)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(statuses.every((status) => status === 200))
      assert.strictEqual(yield* countInbound(owner), 2)
      yield* runChannelJobs
      assert.strictEqual(fake.sent.filter(({ from }) => from === account.phoneNumberId).length, 2)
    })
  )

  it.effect("A delivery from more senders than the agent may have leaves neither chats nor notices of the others", () =>
    Effect.gen(function* () {
      const { account, fake, owner, url } = yield* connectWhatsApp({ appSecret: "own-secret" })
      assert.strictEqual(yield* fake.deliver(account, url, [fake.makeText(customer, "first")]), 200)
      yield* sql`
        insert into inbound_messages
          (id, agent_id, platform, chat_id, external_id, version, sequence, position, status, received_at)
        select 'inb_' || n || ${owner.agent.id}::text, ${owner.agent.id}, 'platformB', ${customer}, n::text, 0, n, n,
          'answered', now()
        from generate_series(1, ${floodLimits.agent}) as n`
      const messages = ["15550000001", "15550000002"].map((sender) => fake.makeText(sender, "spam"))
      assert.strictEqual(yield* fake.deliver(account, url, messages), 200)
      const counts = yield* sql`
        select (select count(*)::int from channel_chats where agent_id = ${owner.agent.id}) as chats,
          (select count(*)::int from outbound_messages where agent_id = ${owner.agent.id}) as notices`
      assert.deepStrictEqual(counts, [{ chats: 1, notices: 0 }])
    })
  )

  it.effect("A chat of a bot that was never identified is not repeated before the chats of others", () =>
    Effect.gen(function* () {
      const { owner } = yield* connectWhatsApp()
      const chat = { agentId: owner.agent.id, platform: "platformB", chatId: customer } as const
      const chats = yield* Chats
      yield* chats.enqueue(chat, "waits")
      yield* sql`update outbound_messages set created_at = now() - interval '1 minute' where agent_id = ${owner.agent.id}`
      const isListed = Effect.map(chats.listStranded(100), (all) =>
        all.some(({ chat: { agentId } }) => agentId === owner.agent.id)
      )
      assert.isTrue(yield* isListed)
      yield* sql`
        update channel_connections set state = 'unreachable', bot = null where agent_id = ${owner.agent.id}`
      assert.isFalse(yield* isListed)
    })
  )

  it.effect("Forged deliveries of WhatsApp store nothing, with one answer for every fault", () =>
    Effect.gen(function* () {
      const { account, fake, owner, path, url } = yield* connectWhatsApp({ appSecret: "own-secret" })
      const body = JSON.stringify(fake.makeNotification(account, [fake.makeText(customer, "forged")]))
      const post = (signature: string | undefined, to = path) =>
        App.web({
          method: "POST",
          path: to,
          body,
          headers: {
            "content-type": "application/json",
            ...(signature === undefined ? {} : { "x-hub-signature-256": signature })
          }
        })
      const genuine = fake.sign(body, "own-secret")
      const refused = yield* Effect.all([
        post(undefined),
        post(""),
        post("sha256="),
        post(genuine.slice(7)),
        post(fake.sign(body, "operator-secret")),
        post(fake.sign(`${body} `, "own-secret")),
        post(genuine, "/api/webhooks/platformB/agt_unknown"),
        post(genuine, `/api/webhooks/platformC/${owner.agent.id}`)
      ])
      assert.deepEqual([...new Set(refused.map(({ status }) => status))], [401])
      assert.strictEqual(
        new Set(refused.map(({ body: { error, message } }) => JSON.stringify([error, message]))).size,
        1
      )
      assert.strictEqual(yield* countInbound(owner), 0)
      assert.strictEqual(yield* fake.deliver(account, url, [fake.makeText(customer, "genuine")]), 200)
      assert.strictEqual(yield* countInbound(owner), 1)
    })
  )

  it.effect("A subscription of WhatsApp is verified by the verify token, and echoed as text", () =>
    Effect.gen(function* () {
      const { path } = yield* connectWhatsApp({ verifyToken: "own-verify" })
      const verify = (token: string, to = path) =>
        App.web({ method: "GET", path: `${to}?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}` })
      const verified = yield* verify("own-verify")
      assert.deepEqual([verified.status, verified.text], [200, "1158201444"])
      assert.match(String(verified.headers["content-type"]), /^text\/plain/)
      assert.strictEqual((yield* verify("wrong")).status, 401)
      assert.strictEqual((yield* verify("own-verify", "/api/webhooks/platformB/agt_unknown")).status, 401)
      assert.strictEqual((yield* App.web({ method: "GET", path })).status, 401)
    })
  )

  it.effect("A reply outside of WhatsApp's 24 hours is given up at once, with a reason in the agent's log", () =>
    Effect.gen(function* () {
      const { account, fake, owner, url } = yield* connectWhatsApp()
      yield* fake.deliver(account, url, [fake.makeText("15557770000", "Answer me tomorrow")])
      fake.advanceClock(25 * 60 * 60 * 1_000)
      yield* runChannelJobs
      assert.strictEqual(fake.sent.filter(({ to }) => to === "15557770000").length, 0)
      const logs = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/logs`, as: owner })
      assert.include(logs.text, "More than 24 hours")
      assert.strictEqual(yield* runChannelJobs, 0)
    })
  )

  it.effect("A slash command of Discord is deferred, and its answer replaces the deferred one", () =>
    Effect.gen(function* () {
      const { bot, fake, owner, url } = yield* connectDiscord
      const ping = { ...fake.makeInteraction(bot, ""), type: 1 }
      assert.deepEqual(yield* fake.interact(bot, url, ping), { status: 200, body: '{"type":1}' })
      assert.strictEqual((yield* fake.interact(bot, url, ping, "1", fake.addBot())).status, 401)
      const question = fake.makeInteraction(bot, "How are you?")
      const deferred = yield* Effect.all(
        Array.from({ length: 100 }, () => fake.interact(bot, url, question)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(deferred.every(({ body, status }) => status === 200 && body === '{"type":5}'))
      assert.strictEqual(yield* countInbound(owner), 1)
      yield* runChannelJobs
      assert.deepEqual(fake.answers.get(question.token), ["Echo: How are you?"])
    })
  )

  it.effect(
    "Messages and voice messages of Discord's gateway are read by one worker, stored with the session, and answered",
    () =>
      Effect.gen(function* () {
        const { readUnread } = yield* ChannelReaders
        const { bot, fake, owner } = yield* connectDiscord
        yield* Effect.repeat(readUnread, { times: 2 })
        yield* eventually(
          Effect.sync(() => fake.isConnected(bot)),
          Boolean
        )
        assert.strictEqual(
          fake.received.filter(({ d, op }) => op === 2 && readText(d, "token") === bot.token).length,
          1
        )
        fake.sendMessage(bot, { channelId: "300000000000000009", content: "Hello" })
        yield* eventually(countInbound(owner), (count) => count === 1)
        yield* runChannelJobs
        assert.deepEqual(
          fake.posted.filter(({ channelId }) => channelId === "300000000000000009").map(({ content }) => content),
          ["Echo: Hello"]
        )
        const recording = new TextEncoder().encode(`${fakeAudioHeader}Ahoy`)
        const spoken = (seconds: number) => ({
          id: "1",
          filename: "voice-message.ogg",
          size: recording.length,
          url: fake.addFile(`/attachments/1/${seconds}/voice-message.ogg`, recording),
          content_type: "audio/ogg",
          duration_secs: seconds,
          waveform: "AAAA"
        })
        for (const seconds of [3.2, 601])
          fake.sendMessage(bot, { channelId: "300000000000000010", content: "", attachments: [spoken(seconds)] })
        yield* eventually(countInbound(owner), (count) => count === 3)
        yield* runChannelJobs
        assert.deepEqual(
          fake.posted.filter(({ channelId }) => channelId === "300000000000000010").map(({ content }) => content),
          ["Echo: [voice message, transcribed] Ahoy", failureNotice]
        )
        fake.revokeToken(bot)
        yield* eventually(
          readChannels(owner),
          (view) => view.includes('"state":"refused"') && view.includes("platformCBotToken")
        )
      })
  )
})
