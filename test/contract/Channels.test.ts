import { ChannelChecks } from "@berth/domain/channels/ChannelChecks"
import { Channels } from "@berth/domain/channels/Channels"
import { CheckChannelJob } from "@berth/domain/channels/ChannelJobs"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent, type OwnerWithAgent } from "./OwnerFixtures.ts"

const call = (owner: OwnerWithAgent, method: "GET" | "PUT", json?: unknown) =>
  App.web({
    method,
    path: `/api/agents/${owner.agent.id}/channels`,
    as: owner,
    ...(json === undefined ? {} : { json })
  })

const Views = Schema.Struct({ channels: Schema.Struct({ platformA: Schema.Object, platformC: Schema.Object }) })
const Config = Schema.Struct({ config: Schema.Struct({ channels: Schema.Array(Schema.String) }) })
const channelOf = (answer: { readonly body: unknown }, platform: "platformA" | "platformC" = "platformA") =>
  Effect.map(Schema.decodeUnknown(Views)(answer.body), ({ channels }) => channels[platform])
const readChannel = (owner: OwnerWithAgent, platform?: "platformA" | "platformC") =>
  Effect.flatMap(call(owner, "GET"), (answer) => channelOf(answer, platform))
const readSelected = ({ agent, ...owner }: OwnerWithAgent) =>
  Effect.gen(function* () {
    const { body } = yield* App.web({ method: "GET", path: `/api/agents/${agent.id}/config`, as: owner })
    return (yield* Schema.decodeUnknown(Config)(body)).config.channels
  })

const absent = {
  configured: false,
  enabled: false,
  health: null,
  bot: null,
  transport: null,
  webhookUrl: null,
  answersBots: false
}
const pending = { state: "pending", reason: null, checkedAt: null }

layer(App.shared, { excludeTestServices: true })("Channels of an agent", (it) => {
  it.effect("PUT of a token connects and enables a channel, shows no secret, and appends a check", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      assert.deepStrictEqual(yield* readChannel(owner), absent)
      const answer = yield* call(owner, "PUT", { platformA: { token: "1:secret-token" } })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.notInclude(answer.text, "secret-token")
      const connected = { ...absent, configured: true, enabled: true, health: pending }
      assert.deepStrictEqual(yield* readChannel(owner), connected)
      assert.deepStrictEqual(yield* readSelected(owner), ["web", "platformA"])
      const jobs = yield* sql`select name from outbox where payload ->> 'agentId' = ${owner.agent.id}`
      assert.deepStrictEqual(jobs, [{ name: CheckChannelJob.name }])
      const [row] = yield* sql`select channel_connections::text as text from channel_connections`
      assert.notInclude(String(row?.["text"]), "secret-token")
    })
  )

  it.effect("The configuration of an agent and its channels stay consistent", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      yield* call(owner, "PUT", { platformA: { token: "1:token", answersBots: true } })
      yield* call(owner, "PUT", { platformA: { enabled: false } })
      assert.deepInclude(yield* readChannel(owner), { configured: true, enabled: false, answersBots: true })
      assert.deepStrictEqual(yield* readSelected(owner), ["web"])
      yield* App.web({
        method: "PUT",
        path: `/api/agents/${owner.agent.id}/config`,
        as: owner,
        json: { channels: ["platformA"] }
      })
      assert.deepInclude(yield* readChannel(owner), { configured: true, enabled: true })
      yield* call(owner, "PUT", { platformA: null })
      assert.deepStrictEqual(yield* readChannel(owner), absent)
      assert.deepStrictEqual(yield* readSelected(owner), [])
    })
  )

  it.effect("A channel without a token of its own uses the owner's credential of the platform", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const json = { action: "set-credential", key: "telegram", value: "1:of-the-owner" }
      yield* App.web({ method: "POST", path: "/api/agent", as: owner, json })
      const answer = yield* call(owner, "PUT", { platformA: { enabled: true } })
      assert.deepInclude(yield* channelOf(answer), { configured: true, enabled: true })
    })
  )

  it.effect("PUT of one secret keeps the others, and is checked again", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { readSecrets } = yield* Channels
      yield* call(owner, "PUT", {
        platformB: { token: "EAAJ-one", appSecret: "app", phoneNumberId: "7", answersBots: true }
      })
      const answer = yield* call(owner, "PUT", { platformB: { verifyToken: "verify" } })
      assert.strictEqual(answer.status, 200, answer.text)
      const secrets = Option.getOrThrow(yield* readSecrets({ agentId: owner.agent.id, platform: "platformB" }))
      const { appSecret, phoneNumberId, token, verifyToken } = secrets
      assert.deepStrictEqual(
        [token, appSecret, verifyToken].map((secret) => (secret === undefined ? null : Redacted.value(secret))),
        ["EAAJ-one", "app", "verify"]
      )
      assert.strictEqual(phoneNumberId, "7")
      assert.include(answer.text, '"answersBots":true')
    }).pipe(Effect.provide(Channels.Default))
  )

  it.effect("Channels.connect joins its caller's transaction, and a failed check never affects the agent", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("starter", "provisioning")
      const { connect, list } = yield* Channels
      const transaction = yield* Transaction
      const key = { agentId: owner.agent.id, platform: "platformC" } as const
      const connected = connect(owner.user.id, key, {
        secrets: { token: Redacted.make("t") },
        greeting: { chatId: "7", text: "Hello" }
      })
      yield* Effect.flip(transaction.run(Effect.zipRight(connected, Effect.fail("later"))))
      assert.deepStrictEqual(yield* list(owner.agent.id), [])
      yield* transaction.run(connected)
      yield* (yield* ChannelChecks).check(key)
      assert.deepNestedInclude(yield* readChannel(owner, "platformC"), {
        "health.state": "unreachable",
        "health.reason": "Discord cannot be reached: no connection."
      })
      const logs = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/logs`, as: owner })
      assert.include(logs.text, "Channel platformC unreachable")
      const [agent] = yield* (yield* SqlClient)`select status from agents where id = ${owner.agent.id}`
      assert.deepStrictEqual(agent, { status: "provisioning" })
    }).pipe(Effect.provide(Layer.merge(Channels.Default, ChannelChecks.Default)))
  )
})
