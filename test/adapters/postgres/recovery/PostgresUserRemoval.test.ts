import { AccountInUse } from "@berth/domain/accounts/AccountErrors"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { digestPrincipal } from "@berth/infra/postgres/limits/PostgresIdempotencyKeys"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { UserId } from "@berth/domain/shared/UserId"

const Live = Layer.merge(PostgresUserRepository.layer, PostgresTransaction.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

/** Tables whose rows outlive a user, with the reason. All others are deleted with the user. */
const retainedTables: Readonly<Record<string, string>> = {
  ledger_entries: "money that moved, under a name drawn by lot",
  purchases: "what was paid for, under a name drawn by lot and the processor's own",
  purchase_reversals: "money that went back, under the processor's own names",
  model_usage: "what models cost, under a name drawn by lot",
  former_subscriptions: "what was paid for, under a name drawn by lot",
  deleted_users: "the bare id, so that what lies about under it can be deleted",
  idempotency_keys: "has no column for a user; deleted by the digest of the user id",
  answer_events: "has no column for a user; deleted by the user's messages, the rest within minutes",
  outbox: "jobs contain the user id only, and are deleted a day after publication",
  reservation_holders: "leases of processes, without a column for a user",
  used_wallet_nonces: "digests of nonces, which are random, for ten minutes",
  used_oauth_states: "digests of what browsers began at providers, for ten minutes",
  payment_redemptions: "what was paid on a chain, with no word of who paid; deleted after 30 days",
  live_streams: "lose their agent, are neither played nor received any more, and are deleted within seconds",
  live_files: "media of live streams, without a column for a user; deleted with their stream",
  audit_entries: "actions of administrators, under the bare id of the user",
  schema_migrations: "the schema's own"
}

const removal = (id: UserId, formerUser: string) =>
  Effect.gen(function* () {
    const users = yield* UserRepository
    const { run } = yield* Transaction
    return yield* run(users.remove(id, formerUser))
  })

/** A user with a row in every table that references users. */
const userWithRowsEverywhere = Effect.gen(function* () {
  const user = yield* insertUser("Wanda")
  const tag = yield* uniqueName("x")
  const [agent, chat, message, reservation] = [`agt_${tag}`, `chs_${tag}`, `msg_${tag}`, `rsv_${tag}`]
  yield* sql`
    insert into agents (id, owner_id, name, model, status, config, created_at, updated_at)
    values (${agent}, ${user.id}, 'Wanda''s agent', 'gpt-4', 'running', '{"systemPrompt":"Wanda says"}', now(), now())`
  yield* sql`
    insert into instances (owner_id, subdomain, desired, status, created_at, last_used_at)
    values (${user.id}, ${`wanda-${tag}`}, 'up', 'running', now(), now())`
  yield* sql`
    insert into sessions (id, user_id, token_hash, created_at, authenticated_at, expires_at, last_seen_at, user_agent)
    values (${`ses_${tag}`}, ${user.id}, ${tag}, now(), now(), now() + interval '1 day', now(), 'Wanda''s browser')`
  yield* sql`
    insert into api_keys (id, user_id, name, key_hash, hint, scopes, created_at)
    values (${`key_${tag}`}, ${user.id}, 'Wanda''s key', ${tag}, 'bk_', ${["agents"]}, now())`
  yield* sql`
    insert into audit_entries (id, actor, action, target, created_at)
    values (${`aud_${tag}`}, 'command:root', 'user.read', ${user.id}, now())`
  yield* sql`insert into claim_notices (user_id, claimed_at) values (${user.id}, now())`
  yield* sql`
    insert into linked_identities (provider, issuer, subject, user_id, linked_at)
    values ('oauthA', 'https://issuer.example', ${tag}, ${user.id}, now())`
  yield* sql`
    insert into social_tokens (hash, session_id, expires_at)
    values (${`hash of ${tag}`}, ${`ses_${tag}`}, now() + interval '1 day')`
  yield* sql`
    insert into mailed_tokens (user_id, purpose, request_id, token_hash, email, expires_at)
    values (${user.id}, 'password-reset', ${`job_${tag}`}, ${tag}, ${user.email}, now() + interval '1 hour')`
  yield* sql`
    insert into referral_rewards (newcomer_id, referrer_id, newcomer_units, referrer_units, created_at)
    values (${user.id}, ${user.id}, 100, 100, now())`
  yield* sql`
    insert into subscriptions
      (user_id, plan, status, updated_at, customer_id, subscription_id, current_period_end, last_event_at)
    values (${user.id}, 'pro', 'active', now(), ${`cus_${tag}`}, ${`sub_${tag}`}, '2030-01-01Z', '2029-12-01Z')`
  yield* sql`
    insert into card_events (id, type, created_at, payload, status, user_id)
    values (${`evt_${tag}`}, 'invoice.payment_failed', now(), '{"email":"Wanda"}', 'applied', ${user.id})`
  yield* sql`insert into card_payers (id, user_id, moment) values (${`cus_${tag}`}, ${user.id}, '{}')`
  yield* sql`
    insert into card_subscriptions (id, payer_id, user_id, facts)
    values (${`sub_${tag}`}, ${`cus_${tag}`}, ${user.id}, '{}')`
  yield* sql`
    insert into card_purchases (name, booked_as, user_id) values (${`cs_${tag}`}, ${`pi_${tag}`}, ${user.id})`
  yield* sql`insert into unit_days (user_id, day, used) values (${user.id}, current_date, 3)`
  yield* sql`
    insert into reservations (id, user_id, cause, day, state, daily_units, credit_units, holder, created_at)
    values (${reservation}, ${user.id}, ${message}, current_date, 'reserved', 1, 0, 'hld_test', now()),
      (${`${reservation}-2`}, ${user.id}, ${message}, current_date, 'released', 1, 0, 'hld_test', now())`
  yield* sql`
    insert into ledger_entries (id, transaction_id, user_id, account, units, cause, created_at)
    values (${`led_${tag}-1`}, ${tag}, ${user.id}, 'grants', -5, 'credits-added', now()),
      (${`led_${tag}-2`}, ${tag}, ${user.id}, 'credits', 5, 'credits-added', now())`
  yield* sql`
    insert into ledger_checkpoints (user_id, closed_until, credit_units) values (${user.id}, now(), 5)`
  yield* sql`
    insert into purchases (id, cause, user_id, kind, description, units, amount, currency, booked_at)
    values (${`pur_${tag}`}, ${`cs_${tag}`}, ${user.id}, 'purchase', '5 credits', 500, 500, 'USD', now())`
  yield* sql`
    insert into purchase_reversals (payment, source, amount, version) values (${`cs_${tag}`}, ${`ch_${tag}`}, 100, 100)`
  yield* sql`
    insert into card_customers (user_id, currency, customer_id, created_at) values (${user.id}, 'USD', 'cus_of_wanda', now())`
  yield* sql`
    insert into purchase_attempts (id, user_id, operation, state, created_at, tried_at)
    values (${`req_${tag}`}, ${user.id}, 'checkout:plan:pro', 'open', now(), now())`
  yield* sql`
    insert into storage_entitlements (user_id, tier, updated_at) values (${user.id}, 'upgraded', now())`
  yield* sql`insert into budgets (user_id, agent_id, period, units) values (${user.id}, ${agent}, 'day', 5)`
  yield* sql`
    insert into model_usage (user_id, agent_id, provider, model, prompt_tokens, completion_tokens, cost_usd, created_at)
    values (${user.id}, ${agent}, 'sandbox', 'echo', 1, 2, 0.5, now())`
  yield* sql`
    insert into chat_sessions (id, user_id, agent_id, status, created_at, last_activity)
    values (${chat}, ${user.id}, ${agent}, 'active', now(), now())`
  yield* sql`
    insert into messages (id, session_id, user_id, agent_id, seq, sender, content, platform, state, created_at)
    values (${message}, ${chat}, ${user.id}, ${agent}, 1, 'user', 'Wanda was here', 'web', 'answered', now())`
  yield* sql`
    insert into attachments (id, agent_id, session_id, name, media_type, size, content, created_at)
    values (${`att_${tag}`}, ${agent}, ${chat}, 'wanda.txt', 'text/plain', 5, 'Wanda', now())`
  yield* sql`
    insert into answer_events (message_id, first_delta, delta_count, deltas, created_at)
    values (${message}, 1, 1, '["Hello Wanda"]', now())`
  yield* sql`
    insert into session_summaries (session_id, summary, up_to_seq, updated_at)
    values (${chat}, 'Wanda said hello', 1, now())`
  yield* sql`
    insert into agent_notes (id, agent_id, user_id, text, text_hash, created_at)
    values (${`nte_${tag}`}, ${agent}, ${user.id}, 'Her name is Wanda', ${tag}, now())`
  yield* sql`insert into turns (id, user_id, agent_id, own_keys_only, lease_until) values (${`tsk_${tag}`}, ${user.id}, ${agent}, false, now())`
  yield* sql`
    insert into credentials (user_id, key, sealed, updated_at) values (${user.id}, 'openai', 'sealed of Wanda', now())`
  yield* sql`
    insert into agent_verifications (agent_id, owner_id, id, type, ens_name, verified_at, next_check_at)
    values (${agent}, ${user.id}, ${`ver_${tag}`}, 'ens', 'wanda.eth', now(), now())`
  yield* sql`
    insert into verification_challenges (agent_id, user_id, purpose, nonce, expires_at)
    values (${agent}, ${user.id}, 'ens', 'Wanda', now())`
  yield* sql`
    insert into webauthn_credentials (id, agent_id, owner_id, public_key, counter, created_at)
    values (${tag}, ${agent}, ${user.id}, 'Wanda', 0, now())`
  yield* sql`insert into wallets (address, user_id, linked_at) values (${`0x${tag}`}, ${user.id}, now())`
  yield* sql`
    insert into idempotency_keys (id, principal_hash, claim_id, first_claim_id, request_hash, lease_until, response_sealed, expires_at)
    values (${tag}, ${digestPrincipal(user.id)}, 'c', 'c', 'h', now(), 'answer to Wanda', now() + interval '1 day')`
  yield* sql`
    insert into uploaded_skills (agent_id, id, name, description, instructions, tools, files, size, created_at, updated_at)
    values (${agent}, 'skill', 'Skill', 'Skill of Wanda', '', '[]', '{}', 0, now(), now())`
  yield* sql`
    insert into mcp_servers (agent_id, name, url, headers_sealed, updated_at)
    values (${agent}, 'notes', 'https://example.com/of-wanda', 'sealed of Wanda', now())`
  yield* sql`
    insert into model_responses (id, user_id, input, output, created_at)
    values (${`resp_${tag}`}, ${user.id}, '["Hello"]', '["Hello Wanda"]', now())`
  yield* sql`insert into a2a_settings (agent_id, allow) values (${agent}, ${["usr_of_wanda"]})`
  yield* sql`
    insert into a2a_messages (id, from_agent, to_agent, message_id, envelope, status, chain_id, path, created_at)
    values (${`a2a_${tag}`}, ${agent}, ${agent}, 'm', '{"payload":"Wanda says"}', 'waiting', ${`a2a_${tag}`},
      array[${agent}], now())`
  yield* sql`
    insert into a2a_tasks (id, agent_id, caller_id, context_id, client_message_id, content, turn_id, created_at)
    select ${`tsk_${tag}`}, ${agent}, ${user.id}, 'c', 'm', '{"parts":[{"text":"Wanda says"}]}', id, now()
    from messages where agent_id = ${agent} limit 1`
  yield* sql`
    insert into a2a_push_notifications (task_id, id, url, due_at, created_at)
    values (${`tsk_${tag}`}, 'n', 'https://wanda.example', now(), now())`
  yield* sql`
    insert into webhook_endpoints (id, user_id, url, kinds, is_ordered, secret_sealed, created_at)
    values (${`whe_${tag}`}, ${user.id}, 'https://wanda.example', array['agent.status'], false, 'sealed of Wanda', now())`
  yield* sql`
    insert into events (id, kind, user_id, data, created_at)
    values (${`evt_${tag}`}, 'user.created', ${user.id}, '{"name":"Wanda"}', now())`
  yield* sql`
    insert into webhook_deliveries (id, endpoint_id, event_id, position, status, due_at, created_at)
    values (${`dlv_${tag}`}, ${`whe_${tag}`}, ${`evt_${tag}`}, 1, 'pending', now(), now())`
  yield* sql`
    insert into agent_log_entries (id, agent_id, level, message, created_at)
    values (${`log_${tag}`}, ${agent}, 'info', 'Wanda connected', now())`
  yield* sql`
    insert into channel_connections (agent_id, platform, secrets_sealed, answers_bots, state, updated_at)
    values (${agent}, 'platformA', 'sealed of Wanda', false, 'connected', now())`
  yield* sql`
    insert into schedules (id, agent_id, kind, cron, timezone, prompt, on_missed, enabled, created_at, updated_at)
    values (${`sch_${tag}`}, ${agent}, 'prompt', '0 9 * * *', 'UTC', 'Wanda wants', 'once', true, now(), now())`
  yield* sql`
    insert into agent_runs (id, agent_id, schedule_id, due_at, prompt, state, created_at)
    values (${`run_${tag}`}, ${agent}, ${`sch_${tag}`}, now(), 'Wanda wants', 'waiting', now())`
  yield* sql`
    insert into channel_chats (agent_id, platform, chat_id, session_id) values (${agent}, 'platformA', '1', ${chat})`
  yield* sql`
    insert into inbound_messages
      (id, agent_id, platform, chat_id, external_id, version, sequence, position, content, status, received_at)
    values (${`inb_${tag}`}, ${agent}, 'platformA', '1', '1', 1, 1, 1, '{"text":"Wanda"}', 'waiting', now())`
  yield* sql`
    insert into outbound_messages (id, agent_id, platform, chat_id, inbound_id, text, status, created_at)
    values (${`out_${tag}`}, ${agent}, 'platformA', '1', ${`inb_${tag}`}, 'Hello Wanda', 'pending', now())`
  yield* sql`
    insert into user_wallets (user_id, kind, address, key_sealed, key_given, created_at)
    values (${user.id}, 'user', '0xaa', 'sealed of Wanda', false, now())`
  yield* sql`
    insert into wallet_limits (agent_id, per_call, per_day, per_agent, confirm_above, updated_at)
    values (${agent}, 1, 1, 1, 1, now())`
  yield* sql`
    insert into wallet_payments
      (id, user_id, agent_id, turn_id, kind, status, amount, payee, fingerprint, created_at, touched_at)
    values (${`pay_${tag}`}, ${user.id}, ${agent}, 'turn', 'send_usdc', 'pending', 1, '0xaa', ${tag}, now(), now())`
  yield* sql`
    insert into unclaimed_agents (owner_id, agent_id, code_hash, created_at)
    values (${user.id}, ${agent}, ${tag}, now())`
  yield* sql`
    insert into live_streams (id, agent_id, playback_url, created_at)
    values (${yield* uniqueName("lst")}, ${agent}, 'https://example.com/live', now())`
  return { user, tag, agent, chat, message }
})

const tables = Effect.map(
  sql<{ name: string }>`
      select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  (rows) => rows.map(({ name }) => name)
)

/** All rows as text, by table. */
const allRows = Effect.gen(function* () {
  const sql = yield* SqlClient
  const stored = new Map<string, string>()
  for (const table of yield* tables) {
    const rows = yield* sql<{ row: string }>`select row_to_json(stored)::text as row from ${sql(table)} as stored`
    stored.set(table, rows.map(({ row }) => row).join("\n"))
  }
  return stored
})

layer(Live, { excludeTestServices: true })("The removal of a user", (it) => {
  it.effect("The removal of a user deletes rows of every table that is not named here as retained", () =>
    Effect.gen(function* () {
      const rows = yield* sql<{ name: string }>`
        with recursive links as (
          select conrelid as child, confrelid as parent from pg_constraint
          where contype = 'f' and confdeltype = 'c' and connamespace = 'public'::regnamespace
        ), following as (
          select 'users'::regclass::oid as id
          union
          select child from links join following on following.id = links.parent
        )
        select relname as name from pg_class join following on following.id = pg_class.oid order by 1`
      const cascading = rows.map(({ name }) => name)
      const all = yield* tables
      assert.deepStrictEqual(
        all.filter((table) => !cascading.includes(table) && !(table in retainedTables)),
        [],
        "a new table refers to its user and is deleted with the user, or is named here with a reason"
      )
      assert.deepStrictEqual(
        Object.keys(retainedTables).filter((table) => !all.includes(table) || cascading.includes(table)),
        [],
        "named, but absent or cascading"
      )
    })
  )

  it.effect("The removal of a user deletes rows by every column that names a user", () =>
    Effect.gen(function* () {
      // A row can reference its agent and also have a user column that no cascade covers.
      const loose = yield* sql<{ name: string }>`
        select table_name || '.' || column_name as name from information_schema.columns as columns
        where table_schema = 'public' and column_name in ('user_id', 'owner_id') and not exists (
          select from pg_constraint
          where contype = 'f' and confrelid = 'users'::regclass and confdeltype in ('c', 'n')
            and conrelid = ('public.' || quote_ident(table_name))::regclass
            and conkey = array[(
              select attnum from pg_attribute where attrelid = conrelid and attname = columns.column_name
            )]
        )`
      assert.deepStrictEqual(loose, [])
    })
  )

  it.effect("The removal of a user leaves no data about the user, and financial records under a random name", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const other = yield* userWithRowsEverywhere
      const { agent, chat, message, tag, user } = yield* userWithRowsEverywhere
      const mine = [user.id, user.email, user.referralCode, tag, agent, chat, message]
      const before = yield* allRows
      const full = (yield* tables).filter((table) => mine.some((part) => before.get(table)?.includes(part)))
      const without = new Set([
        "outbox",
        "reservation_holders",
        "deleted_users",
        "former_subscriptions",
        "used_wallet_nonces",
        "used_oauth_states",
        "payment_redemptions",
        "live_files",
        "schema_migrations"
      ])
      assert.deepStrictEqual(
        full,
        (yield* tables).filter((table) => !without.has(table)),
        "this test stores data of the user in every table"
      )

      assert.isTrue(yield* removal(user.id, "fmr_1"))

      const after = yield* allRows
      for (const [table, text] of after) {
        // Ledger causes contain the id of a deleted message, or one of the card processor.
        const isMoney = ["ledger_entries", "purchases", "purchase_reversals"].includes(table)
        const parts = isMoney ? [user.id, user.email] : mine
        if (table !== "deleted_users" && table !== "audit_entries")
          for (const part of parts) assert.notInclude(text, part, table)
      }
      assert.deepStrictEqual(yield* users.find(user.id), Option.none())
      assert.deepStrictEqual(
        yield* sql`select account, units::int, former_user from ledger_entries where transaction_id = ${tag} order by 1`,
        [
          { account: "credits", units: 5, formerUser: "fmr_1" },
          { account: "grants", units: -5, formerUser: "fmr_1" }
        ]
      )
      assert.deepStrictEqual(
        yield* sql`select user_id, units::int, former_user from purchases where cause = ${`cs_${tag}`}`,
        [{ userId: null, units: 500, formerUser: "fmr_1" }]
      )
      assert.deepStrictEqual(
        yield* sql`select user_id, agent_id, cost_usd, former_user from model_usage where former_user is not null`,
        [{ userId: null, agentId: null, costUsd: "0.5", formerUser: "fmr_1" }]
      )
      assert.deepStrictEqual(
        yield* sql`select former_user, plan, status, current_period_end, last_event_at from former_subscriptions`,
        [
          {
            formerUser: "fmr_1",
            plan: "pro",
            status: "active",
            currentPeriodEnd: new Date("2030-01-01T00:00:00Z"),
            lastEventAt: new Date("2029-12-01T00:00:00Z")
          }
        ]
      )
      // Neither the name nor its records remain in any row besides the id.
      for (const [, text] of after)
        for (const line of text.split("\n")) assert.isFalse(line.includes(user.id) && line.includes("fmr_1"))

      const ofOther = [other.user.id, other.tag, other.agent, other.chat, other.message]
      for (const [table, text] of before)
        for (const part of ofOther)
          assert.strictEqual(after.get(table)?.split(part).length, text.split(part).length, `${part} in ${table}`)
    })
  )

  it.effect("The removal of a user is idempotent, and does nothing for an unknown user", () =>
    Effect.gen(function* () {
      const user = yield* insertUser()
      const outcomes = yield* Effect.replicateEffect(
        Effect.retry(removal(user.id, "fmr_2"), { while: ({ _tag }) => _tag === "AccountInUse" }),
        5,
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter((removed) => removed).length, 1)
      assert.isFalse(yield* removal(UserId.make("usr_none\u0000"), "fmr_3"))
    })
  )

  it.effect("The removal of a user is rolled back with its transaction", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const { run } = yield* Transaction
      const { user } = yield* userWithRowsEverywhere
      const before = yield* allRows
      yield* Effect.flip(run(Effect.zipRight(users.remove(user.id, "fmr_4"), Effect.fail("something else"))))
      assert.deepStrictEqual(yield* allRows, before)
      assert.deepStrictEqual(yield* users.find(user.id), Option.some(user))
    })
  )

  it.effect("The removal of a user gives way to concurrent writes of the account", () =>
    Effect.gen(function* () {
      const { run } = yield* Transaction
      const { chat, user } = yield* userWithRowsEverywhere
      const [writing, written] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const writer = yield* Effect.fork(
        run(
          Effect.gen(function* () {
            yield* sql`update chat_sessions set message_count = message_count + 1 where id = ${chat}`
            yield* Deferred.succeed(writing, undefined)
            yield* Deferred.await(written)
            yield* sql`
              insert into credentials (user_id, key, sealed, updated_at) values (${user.id}, 'google', 'x', now())`
          })
        )
      )
      yield* Deferred.await(writing)
      assert.instanceOf(yield* Effect.flip(removal(user.id, "fmr_5")), AccountInUse)
      yield* Deferred.succeed(written, undefined)
      yield* Fiber.join(writer)
      assert.isTrue(yield* removal(user.id, "fmr_5"))
    })
  )

  it.effect("The removal of a user is recorded: an id is known, deleted or unknown", () =>
    Effect.gen(function* () {
      const users = yield* UserRepository
      const [here, gone] = [yield* insertUser(), yield* insertUser()]
      yield* removal(gone.id, "fmr_6")
      const unknown = UserId.make("usr_\u0000unknown")
      assert.deepStrictEqual(
        yield* users.findAbsent([here.id, gone.id, UserId.make("usr_never")]),
        new Map([
          [gone.id, "deleted" as const],
          [UserId.make("usr_never"), "unknown" as const]
        ])
      )
      assert.strictEqual((yield* users.findAbsent([unknown])).size, 1)
      assert.deepStrictEqual(yield* users.findAbsent([]), new Map())
    })
  )
})
