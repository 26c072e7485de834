import { AgentRepository } from "@berth/domain/agents/AgentRepository"
import { ChannelConnections } from "@berth/domain/channels/ChannelConnections"
import { AgentLiveStreams } from "@berth/domain/provisioning/live-streams/AgentLiveStreams"
import type { LiveStreamId } from "@berth/domain/provisioning/live-streams/LiveStream"
import { LiveStreamsUnavailable } from "@berth/domain/provisioning/live-streams/LiveStreamErrors"
import { LiveStreamRepository } from "@berth/domain/provisioning/live-streams/LiveStreamRepository"
import { LiveStreams } from "@berth/domain/provisioning/live-streams/LiveStreams"
import { UnclaimedExpiry } from "@berth/domain/provisioning/UnclaimedExpiry"
import { Instances } from "@berth/domain/instances/Instances"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Array, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import type { HttpCallResponse } from "../support/HttpCall.ts"
import * as App from "../support/TestApp.ts"
import { assertError } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const token = "123456:AAE-a-token-hunter2"
const documented = ["liveStreamId", "streamKey", "subdomain", "success", "url", "userId"]

const provision = (
  json: unknown,
  { from, headers = {} }: { readonly from?: string; readonly headers?: Readonly<Record<string, string>> } = {}
) => App.web({ method: "POST", path: "/api/provision", json, headers, ...(from === undefined ? {} : { from }) })

const viaBackend = (json: unknown, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(App.TestApp, ({ backend, internalKey }) =>
    backend({
      method: "POST",
      path: "/api/provision",
      json,
      headers: { authorization: `Bearer ${internalKey}`, ...headers }
    })
  )

const decodeIssues = Schema.decodeUnknown(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))

const codeOf = ({ headers }: HttpCallResponse) => String(headers["x-berth-claim-code"])

const claim = (as: App.SignedIn, code: string) =>
  App.web({ method: "POST", path: "/api/agents/claim", as, json: { code } })

const unclaimedRows = Effect.flatMap(
  SqlClient,
  (sql) => sql<{ readonly ownerId: string; readonly agentId: string }>`select owner_id, agent_id from unclaimed_agents`
)
const agentOf = ({ body }: HttpCallResponse) =>
  Effect.map(unclaimedRows, (rows) => String(rows.find(({ ownerId }) => ownerId === body["userId"])?.agentId))

const outboxOf = (name: string, member: string, value: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`select id from outbox where name = ${name} and payload ->> ${member} = ${value}`
  )

const expiry = UnclaimedExpiry.pipe(Effect.provide(UnclaimedExpiry.Default), Effect.provide(AgentLiveStreams.Default))
const expire = Effect.flatMap(expiry, ({ run }) => run())
const rotateDueKeys = Effect.flatMap(AgentLiveStreams, (streams) => streams.rotateDueKeys())

for (const agentManagerTransport of ["in process", "remote"] as const)
  layer(App.layer({ agentManagerTransport }), { excludeTestServices: true })(
    `Provisioning with channel tokens, ${agentManagerTransport}`,
    (it) => {
      it.effect(`Provisioning ${agentManagerTransport} answers the documented fields alone and makes everything`, () =>
        Effect.gen(function* () {
          const answer = yield* provision({ platformAToken: token, aiProvider: "gemini", apiKey: "sk-own-hunter2" })
          assert.strictEqual(answer.status, 200, answer.text)
          assert.deepStrictEqual(Object.keys(answer.body).sort(), documented)
          assert.strictEqual(answer.headers["cache-control"], "no-store")
          const [userId, agentId] = [UserId.make(String(answer.body["userId"])), AgentId.make(yield* agentOf(answer))]
          const agent = Option.getOrThrow(yield* (yield* AgentRepository).find(agentId))
          assert.deepStrictEqual([agent.ownerId, agent.status], [userId, "provisioning"])
          assert.deepStrictEqual([...agent.config.channels], ["web", "platformA"])
          const keys = yield* (yield* Effect.provide(CredentialVault, CredentialVault.Default)).readModelKeys(userId)
          assert.strictEqual(Redacted.value(keys.google ?? Redacted.make("none")), "sk-own-hunter2")
          const secrets = yield* (yield* ChannelConnections).readSecrets({ agentId, platform: "platformA" })
          assert.strictEqual(Redacted.value(Option.getOrThrow(secrets).token), token)
          assert.lengthOf(yield* outboxOf("new-agent", "agentId", agentId), 1)
          const upload = `/live/ingest/${String(answer.body["streamKey"])}/seg0.ts`
          assert.strictEqual((yield* App.web({ method: "PUT", path: upload, body: "x" })).status, 204)
          const sql = yield* SqlClient
          const tables = ["credentials", "channel_connections", "live_streams", "unclaimed_agents", "users", "outbox"]
          const texts = yield* Effect.forEach(
            tables,
            (table) => sql`select ${sql(table)}::text as row from ${sql(table)}`
          )
          for (const secret of [token, "sk-own-hunter2", String(answer.body["streamKey"]), codeOf(answer)])
            assert.notInclude(JSON.stringify(texts), secret)
        })
      )

      it.effect(`Provisioning ${agentManagerTransport} names what is wrong with a request`, () =>
        Effect.gen(function* () {
          const missing = yield* provision({ plan: "free" })
          assertError(missing, { status: 400, code: "channel_token_missing" })
          for (const field of ["platformAToken", "platformBToken", "platformCBotToken"])
            assert.include(String(missing.body["message"]), field)
          const wrong: ReadonlyArray<readonly [field: string, value: unknown, code: string]> = [
            ["platformAToken", "", "provisioning_field_invalid"],
            ["platformBToken", "two\nlines", "provisioning_field_invalid"],
            ["apiKey", "é", "provisioning_field_invalid"],
            ["platformAUserId", "a b", "provisioning_field_invalid"],
            ["platformCBotToken", 5, "invalid_request"],
            ["aiProvider", "mistral", "invalid_request"],
            ["plan", "solo", "invalid_request"]
          ]
          for (const [field, value, code] of wrong) {
            const refused = yield* provision({ platformAToken: token, [field]: value })
            assertError(refused, { status: 400, code })
            assert.include(String(refused.body["message"]), field)
          }
          const every = { platformAToken: "", platformAUserId: "a b", platformBToken: "two\nlines", apiKey: "é" }
          const refused = yield* provision(every)
          assertError(refused, { status: 400, code: "provisioning_field_invalid" })
          const issues = yield* decodeIssues(refused.body["issues"])
          assert.sameMembers(
            issues.map(({ path }) => path),
            Object.keys(every)
          )
          for (const { message, path } of issues) assert.include(String(refused.body["message"]), `${path}: ${message}`)
          assert.strictEqual((yield* provision({ platformAToken: null, platformBToken: token })).status, 200)
        })
      )

      it.effect(`Provisioning ${agentManagerTransport} ignores the removed fields and names them in a warning`, () =>
        Effect.gen(function* () {
          const removed = { platformBPhoneNumberId: "secret-1", platformCGuildId: 5, platformCChannelId: null }
          const answer = yield* provision({ platformBToken: token, ...removed })
          assert.strictEqual(answer.status, 200)
          for (const field of ["platformBPhoneNumberId", "platformCGuildId"])
            assert.include(String(answer.headers["warning"]), field)
          assert.notInclude(String(answer.headers["warning"]), "platformBBusinessAccountId")
          assert.notProperty((yield* provision({ platformBToken: token })).headers, "warning")
        })
      )

      it.effect(`Provisioning ${agentManagerTransport} answers repetitions of a key once, per client address`, () =>
        Effect.gen(function* () {
          const call = { from: "192.0.2.7", headers: { "idempotency-key": "first" } }
          const before = (yield* unclaimedRows).length
          const answers = yield* Effect.replicateEffect(provision({ platformAToken: token }, call), 4, {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
          assert.lengthOf([...new Set(answers.map(({ text }) => text))], 1)
          assert.lengthOf([...new Set(answers.map(codeOf))], 1)
          assert.strictEqual((yield* unclaimedRows).length, before + 1)
          const other = yield* provision({ platformAToken: `${token}2` }, call)
          assertError(other, { status: 422, code: "idempotency_key_reused" })
          const elsewhere = yield* provision({ platformAToken: token }, { ...call, from: "192.0.2.8" })
          assert.notStrictEqual(elsewhere.body["userId"], answers[0]?.body["userId"])
        })
      )

      it.effect(`Provisioning ${agentManagerTransport} is limited per client address before anything else`, () =>
        Effect.gen(function* () {
          const answers = yield* Effect.forEach([1, 2, 3, 4, 5, 6], () => provision({ plan: 5 }, { from: "192.0.2.9" }))
          assert.deepStrictEqual(
            answers.map(({ status }) => status),
            [400, 400, 400, 400, 400, 429]
          )
          assert.property(answers[5]?.headers ?? {}, "retry-after")
        })
      )
    }
  )

layer(App.layer(), { excludeTestServices: true })("Unclaimed agents", (it) => {
  it.effect("The backend answers every field to the internal key alone, and is not limited", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.replicateEffect(viaBackend({ platformAToken: token, plan: "pro" }), 7)
      for (const { body, status } of answers) {
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(
          Object.keys(body).sort(),
          [...documented, "agentId", "aiProvider", "createdAt", "plan", "playbackUrl", "status"].sort()
        )
        assert.deepInclude(body, { success: true, aiProvider: "openrouter", plan: "pro", status: "provisioning" })
      }
      const sql = yield* SqlClient
      assert.deepStrictEqual(
        yield* sql`select plan from users where id = ${String(answers[0]?.body["userId"])}`,
        [{ plan: "free" }],
        "nobody gets a paid plan for nothing"
      )
      const stranger = yield* App.backend({ method: "POST", path: "/api/provision", json: { platformAToken: token } })
      assertError(stranger, { status: 401, code: "internal_key_required" })
    })
  )

  it.effect("A claim moves the agent with its stream, channels, conversations and keys, once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token, aiProvider: "groq", apiKey: "gsk-hunter2" })
      const [agentId, owner] = [yield* agentOf(answer), String(answer.body["userId"])]
      yield* sql`
        insert into chat_sessions (id, user_id, agent_id, status, created_at, last_activity)
        values (${`chs_${agentId}`}, ${owner}, ${agentId}, 'active', now(), now())`
      const claimers = yield* Effect.replicateEffect(App.signInNewUser(), 4)
      const claims = yield* Effect.forEach(
        claimers,
        (as) => Effect.map(claim(as, codeOf(answer)), (got) => ({ as, got })),
        {
          concurrency: "unbounded"
        }
      )
      const winners = claims.filter(({ got }) => got.status === 200)
      assert.lengthOf(winners, 1)
      for (const { got } of claims)
        if (got.status !== 200) assertError(got, { status: 404, code: "claim_code_unknown" })
      const winner = winners[0]?.as
      if (winner === undefined) return assert.fail("nobody won")
      const list = yield* App.web({ method: "GET", path: "/api/agents", as: winner })
      assert.include(list.text, agentId)
      const stream = yield* App.web({ method: "GET", path: `/api/agents/${agentId}/live-stream`, as: winner })
      assert.include(stream.text, String(answer.body["liveStreamId"]))
      const moved = yield* sql`
        select (select user_id from chat_sessions where agent_id = ${agentId}) as session,
          (select owner_id from instances where owner_id = ${winner.user.id}) as instance,
          (select user_id from credentials where key = 'groq') as key`
      assert.deepStrictEqual(moved, [{ session: winner.user.id, instance: winner.user.id, key: winner.user.id }])
      assert.lengthOf(yield* outboxOf("remove-account", "userId", owner), 1)
      assert.isAtLeast((yield* outboxOf("new-agent", "agentId", agentId)).length, 2)
    })
  )

  it.effect(
    "A claim replaces the stream key, names the secrets that the previous holder has, and ends its access",
    () =>
      Effect.gen(function* () {
        const { cookieName } = yield* App.TestApp
        const sql = yield* SqlClient
        const answer = yield* provision({
          platformAToken: token,
          platformBToken: "wa-hunter2",
          aiProvider: "groq",
          apiKey: "gsk-hunter2"
        })
        const [agentId, owner] = [yield* agentOf(answer), UserId.make(String(answer.body["userId"]))]
        const upload = (key: unknown) =>
          App.web({ method: "PUT", path: `/live/ingest/${String(key)}/seg0.ts`, body: "x" })
        assert.strictEqual((yield* upload(answer.body["streamKey"])).status, 204)
        const before = yield* (yield* Sessions).open(owner)
        const withSession = {
          method: "GET",
          path: "/api/auth/session",
          headers: { cookie: `${cookieName}=${Redacted.value(before.token)}` }
        }
        assert.strictEqual((yield* App.web(withSession)).status, 200)
        const gatewayToken = Redacted.value(
          yield* (yield* Effect.provide(Instances, Instances.Default)).ensureGatewayToken(owner)
        )
        const withToken = {
          method: "GET",
          path: "/api/agent?action=sessions",
          headers: {
            host: `${String(answer.body["subdomain"])}.agents.localhost`,
            authorization: `Bearer ${gatewayToken}`
          }
        }
        assert.strictEqual((yield* App.web(withToken)).status, 200)
        const claimer = yield* App.signInNewUser()
        const claimed = yield* claim(claimer, codeOf(answer))
        assert.strictEqual(claimed.status, 200, claimed.text)
        assert.deepStrictEqual(claimed.body["shared"], { channels: ["platformA", "platformB"], modelKeys: ["groq"] })
        const stream = yield* Schema.decodeUnknown(
          Schema.Struct({ liveStreamId: Schema.String, streamKey: Schema.String, playbackUrl: Schema.String })
        )(claimed.body["liveStream"])
        assert.strictEqual(stream.liveStreamId, answer.body["liveStreamId"])
        assertError(yield* upload(answer.body["streamKey"]), { status: 404, code: "live_stream_not_found" })
        assert.strictEqual((yield* upload(stream.streamKey)).status, 204)
        assert.strictEqual((yield* App.web(withSession)).body["user"] ?? null, null)
        assert.strictEqual((yield* App.web(withToken)).status, 401)
        const entries = yield* sql<{ readonly message: string }>`
        select message from agent_log_entries where agent_id = ${agentId} and message like 'Agent claimed%'`
        assert.lengthOf(entries, 1)
        for (const name of ["platformA", "platformB", "groq"]) assert.include(entries[0]?.message, name)
        const keys = { method: "POST", path: `/api/agents/${agentId}/live-stream/key` }
        const rotated = yield* App.web({ ...keys, as: claimer })
        assert.strictEqual(rotated.status, 200, rotated.text)
        assert.strictEqual((yield* upload(stream.streamKey)).status, 404)
        assert.notInclude(rotated.text, stream.streamKey)
      })
  )

  it.effect("An expired agent's stream accepts no uploads until the agent is claimed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token })
      const agentId = AgentId.make(yield* agentOf(answer))
      const upload = (key: string) => App.web({ method: "PUT", path: `/live/ingest/${key}/seg0.ts`, body: "x" })
      const first = String(answer.body["streamKey"])
      const replaceKeys = Effect.provide(rotateDueKeys, AgentLiveStreams.Default)
      yield* replaceKeys
      assert.strictEqual((yield* upload(first)).status, 204, "not expired")
      yield* sql`update unclaimed_agents set created_at = now() - interval '25 h' where agent_id = ${agentId}`
      yield* expire
      assertError(yield* upload(first), { status: 404, code: "live_stream_not_found" })
      const claimed = yield* claim(yield* App.signInNewUser(), codeOf(answer))
      const key = /"streamKey":"([^"]+)"/.exec(claimed.text)?.[1] ?? ""
      yield* replaceKeys
      assert.strictEqual((yield* upload(key)).status, 204, "the key of the claimer stays")
    })
  )

  it.effect("A stream key that its provider does not replace at the claim is refused, and replaced later", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token })
      const agentId = AgentId.make(yield* agentOf(answer))
      const upload = (key: string) => App.web({ method: "PUT", path: `/live/ingest/${key}/seg0.ts`, body: "x" })
      const streams = yield* LiveStreams
      /** Calls of the provider outside of transactions. */
      let calls = 0
      const replaceKeys = (isAway: boolean) => {
        const rotateKey = (id: LiveStreamId) =>
          Effect.gen(function* () {
            calls += 1
            const [row] = yield* Effect.orDie(sql`select pg_current_xact_id_if_assigned() as id`)
            assert.deepStrictEqual(row, { id: null })
            return isAway ? yield* new LiveStreamsUnavailable({ reason: "away" }) : yield* streams.rotateKey(id)
          })
        return Effect.provide(
          rotateDueKeys,
          Layer.provide(AgentLiveStreams.Default, Layer.succeed(LiveStreams, { ...streams, rotateKey }))
        )
      }
      const isDue = Effect.map(
        sql`select key_due_at is not null as due from live_streams where agent_id = ${agentId}`,
        ([row]) => row?.["due"]
      )
      const passMinute = sql`
        update live_streams set key_due_at = key_due_at - interval '1 minute' where agent_id = ${agentId}`
      const repository = yield* LiveStreamRepository
      assert.isTrue(yield* repository.expireKey(agentId, Duration.minutes(1)))
      assert.isFalse(yield* repository.expireKey(agentId, Duration.minutes(1)), "the other caller replaces it")
      assertError(yield* upload(String(answer.body["streamKey"])), { status: 404, code: "live_stream_not_found" })
      yield* replaceKeys(false)
      assert.strictEqual(calls, 0, "the caller has a minute")
      yield* passMinute
      yield* replaceKeys(true)
      yield* replaceKeys(true)
      assert.strictEqual(calls, 1, "a minute between two attempts")
      assert.isTrue(yield* isDue)
      yield* passMinute
      yield* replaceKeys(false)
      assert.isFalse(yield* isDue)
    })
  )

  it.effect("A claim beyond the plan of the claimer is refused, and the agent stays unclaimed", () =>
    Effect.gen(function* () {
      const answer = yield* provision({ platformAToken: token })
      const owner = yield* createOwnerWithAgent("starter")
      const refused = yield* claim(owner, codeOf(answer))
      assertError(refused, { status: 429, code: "plan_limit_reached" })
      assert.deepStrictEqual([refused.body["current"], refused.body["limit"]], [1, 1])
      assertError(yield* claim(owner, "unknown"), { status: 404, code: "claim_code_unknown" })
      assert.strictEqual((yield* claim(yield* App.signInNewUser(), codeOf(answer))).status, 200)
    })
  )

  it.effect("A claim does not free an agent from the suspension of its owner", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token })
      const suspend = (at: Date | null) =>
        sql`update users set suspended_at = ${at} where id = ${String(answer.body["userId"])}`
      yield* suspend(new Date(0))
      const claimer = yield* App.signInNewUser()
      assertError(yield* claim(claimer, codeOf(answer)), { status: 404, code: "claim_code_unknown" })
      yield* suspend(null)
      assert.strictEqual((yield* claim(claimer, codeOf(answer))).status, 200)
    })
  )

  it.effect("The bot sends the code to the user of platform A, and the caller does not get it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token, platformAUserId: "4711" })
      assert.notProperty(answer.headers, "x-berth-claim-code")
      const sent = yield* sql<{ readonly chatId: string; readonly text: string }>`
        select chat_id, text from outbound_messages where agent_id = ${yield* agentOf(answer)}`
      assert.deepStrictEqual(
        sent.map(({ chatId }) => chatId),
        ["4711"]
      )
      const code = sent[0]?.text.split("\n").at(-1) ?? ""
      assert.strictEqual((yield* claim(yield* App.signInNewUser(), code)).status, 200)
    })
  )

  it.effect("An anonymous owner gets no mail, cannot sign in and refers no one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token })
      const [owner] = yield* sql<{ readonly email: string; readonly referralCode: string }>`
        select email, referral_code from users where id = ${String(answer.body["userId"])}`
      const json = { email: owner?.email, password: "correct horse battery" }
      const signIn = yield* App.web({ method: "POST", path: "/api/auth/callback/credentials", json })
      assert.strictEqual(signIn.status, 401)
      assertError(yield* App.web({ method: "POST", path: "/api/register", json }), {
        status: 400,
        code: "email_invalid"
      })
      const newcomer = { email: "new@example.com", password: json.password, referralCode: owner?.referralCode }
      assertError(yield* App.web({ method: "POST", path: "/api/register", json: newcomer }), {
        status: 400,
        code: "referral_code_invalid"
      })
      yield* App.web({ method: "POST", path: "/api/auth/forgot-password", json: { email: owner?.email } })
      assert.deepStrictEqual(yield* sql`select id from outbox where name = 'send-mail'`, [])
    })
  )

  it.effect("What is not claimed is stopped once and later removed with its code", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const answer = yield* provision({ platformAToken: token })
      const owner = String(answer.body["userId"])
      const age = (hours: number) =>
        sql`update unclaimed_agents set created_at = now() - make_interval(hours => ${hours}) where owner_id = ${owner}`
      const jobs = Effect.all([
        outboxOf("act-on-instance", "userId", owner),
        outboxOf("remove-account", "userId", owner)
      ])
      const counts = Effect.map(jobs, (all) => all.map((rows) => rows.length))
      yield* age(23)
      yield* expire
      assert.deepStrictEqual(yield* counts, [0, 0])
      yield* age(25)
      yield* Effect.replicateEffect(expire, 2)
      assert.deepStrictEqual(yield* counts, [1, 0])
      yield* age(49)
      yield* Effect.replicateEffect(expire, 2)
      assert.deepStrictEqual(yield* counts, [1, 1])
      assertError(yield* claim(yield* App.signInNewUser(), codeOf(answer)), { status: 404, code: "claim_code_unknown" })
    })
  )
})

layer(App.layer({ unclaimedMaximum: 20 }), { excludeTestServices: true })("The limit of unclaimed agents", (it) => {
  it.effect("Of 60 concurrent calls exactly as many succeed as may wait for their claim", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.replicateEffect(provision({ platformAToken: token }), 60, { concurrency: 60 })
      const refused = answers.filter(({ status }) => status !== 200)
      assert.lengthOf(refused, 40)
      for (const answer of refused) {
        assertError(answer, { status: 429, code: "unclaimed_limit_reached" })
        assert.property(answer.headers, "retry-after")
      }
      const sql = yield* SqlClient
      const left = yield* sql`
        select (select count(*)::int from unclaimed_agents) as unclaimed, (select count(*)::int from users) as users,
          (select count(*)::int from live_streams) as streams`
      assert.deepStrictEqual(left, [{ unclaimed: 20, users: 20, streams: 20 }])
      const [first] = answers.filter(({ status }) => status === 200)
      if (first === undefined) return assert.fail("none succeeded")
      assert.strictEqual((yield* claim(yield* App.signInNewUser(), codeOf(first))).status, 200)
      assert.strictEqual((yield* provision({ platformAToken: token })).status, 200)
    })
  )
})

layer(App.layer({ unclaimedMaximum: 20, limits: { provision: { count: 1_000, window: Duration.hours(1) } } }), {
  excludeTestServices: true
})("The share of a network in the limit of unclaimed agents", (it) => {
  it.effect("Of concurrent calls of one network exactly its share succeeds, and others are not affected", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const from = (index: number) => `2001:db8:7:1::${index.toString(16)}`
      const answers = yield* Effect.forEach(
        Array.range(1, 20),
        (index) => provision({ platformAToken: token }, { from: from(index) }),
        { concurrency: "unbounded" }
      )
      const refused = answers.filter(({ status }) => status !== 200)
      assert.lengthOf(refused, 15)
      for (const one of refused) {
        assertError(one, { status: 429, code: "unclaimed_limit_reached" })
        assert.deepStrictEqual([one.body["scope"], one.body["limit"]], ["network", 5])
        assert.property(one.headers, "retry-after")
      }
      assert.strictEqual((yield* provision({ platformAToken: token }, { from: "2001:db8:7:2::1" })).status, 200)
      assert.deepStrictEqual(yield* sql`select count(*)::int as agents from agents`, [{ agents: 6 }])
      for (const _ of [1, 2, 3, 4, 5, 6]) assert.strictEqual((yield* viaBackend({ platformAToken: token })).status, 200)
      const claimed = answers.find(({ status }) => status === 200)
      if (claimed === undefined) return assert.fail("none succeeded")
      yield* claim(yield* App.signInNewUser(), codeOf(claimed))
      assert.strictEqual((yield* provision({ platformAToken: token }, { from: from(1) })).status, 200)
    })
  )
})

layer(App.layer({ agentManagerTransport: "remote", remoteBackendUrl: "http://127.0.0.1:1" }), {
  excludeTestServices: true
})("Provisioning without a backend", (it) => {
  it.effect("Provisioning is 502 while the backend is away, and the key of the request stays free", () =>
    Effect.gen(function* () {
      const call = { from: "192.0.2.7", headers: { "idempotency-key": "first" } }
      for (const _ of [1, 2])
        assertError(yield* provision({ platformAToken: token }, call), {
          status: 502,
          code: "provisioning_unavailable"
        })
    })
  )
})
