import { ChannelConnections } from "@berth/domain/channels/ChannelConnections"
import { InstanceRepository } from "@berth/domain/instances/InstanceRepository"
import { makeSubdomain } from "@berth/domain/instances/Instance"
import { IdempotencyKeys } from "@berth/domain/limits/IdempotencyKeys"
import { IdempotentExecution, RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { deliverMail, MailOutbox, SendMailJob } from "@berth/domain/mail/MailOutbox"
import { Mailer } from "@berth/domain/mail/Mailer"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { CredentialRepository } from "@berth/domain/secrets/CredentialRepository"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { Email } from "@berth/domain/shared/Email"
import { A2aTaskId } from "@berth/domain/a2a/tasks/A2aTask"
import { PushNotificationRepository } from "@berth/domain/a2a/tasks/PushNotificationRepository"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { McpServerRepository } from "@berth/domain/skills/mcp/McpServerRepository"
import { UserWalletRepository } from "@berth/domain/wallets/UserWalletRepository"
import { sealedColumns } from "@berth/infra/postgres/SealedColumns"
import { countSealedValues, resealSecrets } from "@berth/infra/postgres/SecretResealing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Record, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { migratedDatabase } from "../support/MigratedDatabase.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import { testStorage } from "../support/TestStorage.ts"

const makeKey = (id: string) => ({ id, key: Redacted.make(randomBytes(32)) })
type Key = ReturnType<typeof makeKey>

/** A program with these keys; the first one is current. */
const program = (databaseUrl: Redacted.Redacted, first: Key, ...rest: ReadonlyArray<Key>) =>
  Layer.orDie(testStorage(databaseUrl, { maxConnections: 3, keys: [first, ...rest] }))

const storeSecrets = Effect.gen(function* () {
  const { id } = yield* insertUser()
  const credentials = yield* CredentialRepository
  yield* credentials.set(id, "openai", Redacted.make("sk-secret"))
  yield* credentials.set(id, "telegram", Redacted.make("bot-secret"))
  const instances = yield* InstanceRepository
  yield* instances.ensure(id, makeSubdomain(id))
  const runtime = Redacted.value(yield* instances.ensureRuntimeToken(id))
  const gateway = Redacted.value(yield* instances.ensureGatewayToken(id))
  const agent = yield* insertAgent(id)
  const channel = { agentId: agent.id, platform: "platformA" } as const
  const secrets = { token: Redacted.make("channel-token"), webhookSecret: Redacted.make("hook") }
  yield* (yield* ChannelConnections).save(channel, { secrets, answersBots: false })
  const headers = { authorization: Redacted.make("Bearer mcp-token") }
  yield* (yield* McpServerRepository).replace(agent.id, [{ name: "docs", url: "https://mcp.example/", headers }])
  const wallets = yield* UserWalletRepository
  const wallet = yield* wallets.insert(id, "user", {
    address: WalletAddress.make(`0x${"ab".repeat(20)}`),
    privateKey: Redacted.make("wallet-key"),
    isSupplied: false
  })
  const keys = yield* IdempotencyKeys
  const key = { principal: id, route: "POST /x", key: "one" }
  const claim = yield* keys.claim(key, "hash")
  assert.strictEqual(claim._tag, "Claimed")
  if (claim._tag === "Claimed") {
    const { run } = yield* IdempotentExecution
    yield* (yield* Transaction)
      .run(run(Schema.String, Effect.succeed("outcome")))
      .pipe(Effect.provideService(RequestClaim, Option.some({ key, id: claim.id })))
    yield* keys.complete(key, claim.id, { status: 200, headers: {}, body: "response" })
  }
  const box = yield* SecretBox
  const endpointId = `whe_${id}`
  const sealFor = (column: string) => box.seal(Redacted.make(column), `webhook_endpoints.${column}:${endpointId}`)
  yield* sql`
    insert into chat_sessions (id, user_id, agent_id, status, created_at, last_activity)
    values (${`chs_${id}`}, ${id}, ${agent.id}, 'active', now(), now())`
  yield* sql`
    insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
    values (${`msg_${id}`}, ${`chs_${id}`}, ${id}, ${agent.id}, 1, 'user', 'hello', 'a2a', 'pending', now())`
  const taskId = A2aTaskId.make(`tsk_${id}`)
  yield* sql`
    insert into a2a_tasks (id, agent_id, caller_id, context_id, client_message_id, content, turn_id, created_at)
    values (${taskId}, ${agent.id}, ${id}, 'c', 'm', '{}', ${`msg_${id}`}, now())`
  const token = Redacted.make("push-token")
  yield* (yield* PushNotificationRepository).store(
    { taskId, id: "one", url: "https://receiver.example", token, authentication: null },
    1
  )
  yield* sql`
    insert into webhook_endpoints
      (id, user_id, url, kinds, is_ordered, secret_sealed, previous_secret_sealed, created_at)
    values (${endpointId}, ${id}, 'https://receiver.example', array['agent.status'], false,
      ${yield* sealFor("secret_sealed")}, ${yield* sealFor("previous_secret_sealed")}, now())`
  const mail = { to: Email.make("reader@example.com"), subject: "A link", text: "secret link" }
  yield* Effect.flatMap(MailOutbox, ({ append }) => append(mail, id)).pipe(Effect.provide(MailOutbox.Default))
  return { id, key, runtime, gateway, channel, wallet, taskId }
})
type Stored = Effect.Effect.Success<typeof storeSecrets>

const assertReadable = ({ channel, gateway, id, key, runtime, taskId, wallet }: Stored) =>
  Effect.gen(function* () {
    const notification = yield* Effect.flatten((yield* PushNotificationRepository).find(taskId, "one"))
    assert.strictEqual(notification.token && Redacted.value(notification.token), "push-token")
    const { decrypt } = yield* CredentialRepository
    const values = yield* decrypt(id, ["openai", "telegram"])
    assert.deepStrictEqual(
      [values.openai, values.telegram].map((value) => value && Redacted.value(value)),
      ["sk-secret", "bot-secret"]
    )
    const secrets = yield* Effect.flatten((yield* ChannelConnections).readSecrets(channel))
    assert.strictEqual(Redacted.value(secrets.token), "channel-token")
    const [server] = yield* (yield* McpServerRepository).list(channel.agentId)
    assert.deepStrictEqual(Record.map(server?.headers ?? {}, Redacted.value), { authorization: "Bearer mcp-token" })
    const walletKey = yield* (yield* UserWalletRepository).openKey(wallet)
    assert.strictEqual(Redacted.value(walletKey), "wallet-key")
    const instances = yield* InstanceRepository
    assert.strictEqual(Redacted.value(yield* instances.ensureRuntimeToken(id)), runtime)
    assert.strictEqual(Redacted.value(yield* instances.ensureGatewayToken(id)), gateway)
    const again = yield* (yield* IdempotencyKeys).claim(key, "hash")
    assert.deepInclude(again, { _tag: "Replay", response: { status: 200, headers: {}, body: "response" } })
    const sent: Array<string> = []
    const mailer = Layer.succeed(Mailer, { send: ({ text }) => Effect.sync(() => void sent.push(text)) })
    const rows = yield* sql`select payload from outbox where name = ${SendMailJob.name}`
    for (const { payload } of rows)
      yield* deliverMail(yield* Schema.decodeUnknown(SendMailJob.payload)(payload)).pipe(Effect.provide(mailer))
    assert.isTrue(sent.includes("secret link"))
    const [row] =
      yield* sql`select outcome_sealed is not null as stored from idempotency_keys where outcome_sealed is not null`
    assert.deepStrictEqual(row, { stored: true })
  })

const columnNames = sealedColumns.map(({ name }) => name)

describe("resealSecrets", () => {
  it.scopedLive("resealSecrets seals every value by the current key, after which the old key can be removed", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const [old, current] = [makeKey("old"), makeKey("new")]
      const [first, second] = yield* Effect.all([storeSecrets, storeSecrets]).pipe(Effect.provide(program(url, old)))
      yield* Effect.gen(function* () {
        const before = yield* countSealedValues
        assert.deepStrictEqual([...new Set(before.map(({ column }) => column))].toSorted(), columnNames.toSorted())
        assert.isTrue(before.every(({ keyId }) => keyId === "old"))
        assert.strictEqual(yield* resealSecrets("new"), 0)
        const after = yield* countSealedValues
        assert.deepStrictEqual(
          after,
          before.map((count) => ({ ...count, keyId: "new" }))
        )
        const stored = yield* sql`select sealed from credentials order by sealed`
        assert.strictEqual(yield* resealSecrets("new"), 0)
        assert.deepStrictEqual(yield* sql`select sealed from credentials order by sealed`, stored)
      }).pipe(Effect.provide(program(url, current, old)))
      yield* Effect.all([assertReadable(first), assertReadable(second)]).pipe(Effect.provide(program(url, current)))
    })
  )

  it.scopedLive("resealSecrets seals more values than one batch, and none written by a running program", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const [old, current] = [makeKey("old"), makeKey("new")]
      const owners = yield* Effect.replicateEffect(
        Effect.tap(insertUser(), ({ id }) =>
          Effect.flatMap(CredentialRepository, ({ set }) => set(id, "openai", Redacted.make(`key of ${id}`)))
        ),
        450
      ).pipe(Effect.provide(program(url, old)))
      const running = program(url, current, old)
      const replace = Effect.forEach(owners.slice(0, 100), ({ id }) =>
        Effect.flatMap(CredentialRepository, ({ set }) => set(id, "openai", Redacted.make(`new key of ${id}`)))
      ).pipe(Effect.provide(program(url, old, current)))
      yield* Effect.gen(function* () {
        yield* Effect.all([resealSecrets("new"), replace, resealSecrets("new")], { concurrency: "unbounded" })
        // The program that sealed with the old key has been restarted.
        assert.strictEqual(yield* resealSecrets("new"), 0)
        assert.deepStrictEqual(yield* countSealedValues, [{ column: "credentials.sealed", keyId: "new", rows: 450 }])
        const { decrypt } = yield* CredentialRepository
        for (const [index, { id }] of owners.entries()) {
          const { openai } = yield* decrypt(id, ["openai"])
          assert.strictEqual(openai && Redacted.value(openai), `${index < 100 ? "new key" : "key"} of ${id}`)
        }
      }).pipe(Effect.provide(running))
    })
  )

  it.scopedLive("resealSecrets counts values that no key opens, leaves them, and seals the others", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const [lost, old, current] = [makeKey("lost"), makeKey("old"), makeKey("new")]
      const store = Effect.gen(function* () {
        const { id } = yield* insertUser()
        yield* (yield* CredentialRepository).set(id, "openai", Redacted.make("secret"))
      })
      for (const key of [lost, old]) yield* Effect.provide(store, program(url, key))
      yield* Effect.gen(function* () {
        assert.strictEqual(yield* resealSecrets("new"), 1)
        assert.deepStrictEqual(yield* countSealedValues, [
          { column: "credentials.sealed", keyId: "lost", rows: 1 },
          { column: "credentials.sealed", keyId: "new", rows: 1 }
        ])
      }).pipe(Effect.provide(program(url, current, old)))
    })
  )

  it.scopedLive("resealSecrets names every sealed column of the schema", () =>
    Effect.gen(function* () {
      const rows = yield* sql<{ readonly name: string }>`
          select table_name || '.' || column_name as name from information_schema.columns
          where table_schema = 'public' and column_name like '%sealed' order by 1`.pipe(
        Effect.provide(program(yield* migratedDatabase, makeKey("one")))
      )
      assert.deepStrictEqual(
        rows.map(({ name }) => name),
        columnNames.filter((name) => !name.startsWith("outbox.")).toSorted()
      )
    })
  )
})
