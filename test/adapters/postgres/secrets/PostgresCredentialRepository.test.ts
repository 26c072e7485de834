import { CredentialKey } from "@berth/domain/secrets/Credential"
import { CredentialRepository } from "@berth/domain/secrets/CredentialRepository"
import * as AesGcmSecretBox from "@berth/infra/crypto/AesGcmSecretBox"
import * as PostgresCredentialRepository from "@berth/infra/postgres/secrets/PostgresCredentialRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Record, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { UserId } from "@berth/domain/shared/UserId"

const Live = Layer.merge(PostgresCredentialRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const every = CredentialKey.literals
const shown = (opened: { readonly [key: string]: Redacted.Redacted }) => Record.map(opened, Redacted.value)

layer(Live, { excludeTestServices: true })("CredentialRepository", (it) => {
  it.effect("CredentialRepository returns the last value of each requested key of an owner", () =>
    Effect.gen(function* () {
      const credentials = yield* CredentialRepository
      const [owner, other] = yield* Effect.all([insertUser(), insertUser()])
      assert.deepStrictEqual(yield* credentials.listKeys(owner.id), [])
      assert.deepStrictEqual(yield* credentials.decrypt(owner.id, every), {})
      for (const key of every) {
        yield* credentials.set(owner.id, key, Redacted.make(`old ${key}`))
        yield* credentials.set(owner.id, key, Redacted.make(`a ${key}`))
      }
      yield* credentials.set(other.id, "openai", Redacted.make("another's"))
      assert.sameMembers([...(yield* credentials.listKeys(owner.id))], [...every])
      assert.deepStrictEqual(yield* credentials.listKeys(other.id), ["openai"])
      assert.deepStrictEqual(
        shown(yield* credentials.decrypt(owner.id, every)),
        Object.fromEntries(every.map((key) => [key, `a ${key}`]))
      )
      assert.deepStrictEqual(shown(yield* credentials.decrypt(owner.id, ["openai", "discord"])), {
        openai: "a openai",
        discord: "a discord"
      })
      assert.deepStrictEqual(shown(yield* credentials.decrypt(other.id, ["openai", "discord"])), {
        openai: "another's"
      })
      assert.deepStrictEqual(yield* credentials.decrypt(owner.id, []), {})
      assert.deepStrictEqual(yield* credentials.decrypt(UserId.make("usr_none"), every), {})
    })
  )

  it.effect("CredentialRepository keeps one complete value of concurrent writes", () =>
    Effect.gen(function* () {
      const credentials = yield* CredentialRepository
      const owner = yield* insertUser()
      const values = Array.from({ length: 20 }, (_, n) => `${n}`.repeat(8_000))
      yield* Effect.forEach(values, (value) => credentials.set(owner.id, "google", Redacted.make(value)), {
        concurrency: "unbounded"
      })
      const { google } = yield* credentials.decrypt(owner.id, ["google"])
      assert.include(values, google === undefined ? "" : Redacted.value(google))
      assert.deepStrictEqual(yield* credentials.listKeys(owner.id), ["google"])
    })
  )

  it.effect("CredentialRepository stores values sealed, and a value opens in its own row only", () =>
    Effect.gen(function* () {
      const credentials = yield* CredentialRepository
      const sql = yield* SqlClient
      const [owner, thief] = yield* Effect.all([insertUser(), insertUser()])
      const secret = "sk-live-0123456789"
      yield* credentials.set(owner.id, "openai", Redacted.make(secret))
      const [row] = yield* sql`select credentials::text as text, sealed from credentials where user_id = ${owner.id}`
      for (const hidden of [secret, Buffer.from(secret).toString("base64url"), Buffer.from(secret).toString("hex")])
        assert.notInclude(String(row?.["text"]), hidden)

      const moved = [
        { userId: thief.id, key: "openai" },
        { userId: owner.id, key: "telegram" }
      ] as const
      for (const { key, userId } of moved) {
        yield* sql`insert into credentials ${sql.insert({ userId, key, sealed: row?.["sealed"], updatedAt: new Date(0) })}`
        const outcome = yield* Effect.exit(credentials.decrypt(userId, [key]))
        assert.isTrue(Exit.isFailure(outcome) && Cause.isDie(outcome.cause))
        assert.notInclude(Exit.isFailure(outcome) ? Cause.pretty(outcome.cause) : "", secret)
      }
      assert.deepStrictEqual(shown(yield* credentials.decrypt(owner.id, ["openai"])), { openai: secret })
    })
  )

  it.effect("CredentialRepository opens values of an older key, and seals with the newer one", () =>
    Effect.gen(function* () {
      const owner = yield* insertUser()
      const [old, current] = [
        { id: "old", key: Redacted.make(randomBytes(32)) },
        { id: "new", key: Redacted.make(randomBytes(32)) }
      ]
      const before = PostgresCredentialRepository.layer.pipe(Layer.provide(AesGcmSecretBox.layer({ keys: [old] })))
      const after = PostgresCredentialRepository.layer.pipe(
        Layer.provide(AesGcmSecretBox.layer({ keys: [current, old] }))
      )
      const set = (key: CredentialKey) =>
        Effect.flatMap(CredentialRepository, (credentials) => credentials.set(owner.id, key, Redacted.make(`a ${key}`)))
      yield* Effect.zipRight(set("openai"), set("google")).pipe(Effect.provide(before))
      yield* Effect.gen(function* () {
        const credentials = yield* CredentialRepository
        yield* set("google")
        assert.deepStrictEqual(shown(yield* credentials.decrypt(owner.id, every)), {
          openai: "a openai",
          google: "a google"
        })
      }).pipe(Effect.provide(after))
      const rows = yield* sql`
        select key, split_part(sealed, '.', 2) as sealed_by from credentials where user_id = ${owner.id} order by key`
      assert.deepStrictEqual(
        rows.map((row) => [row["key"], row["sealedBy"]]),
        [
          ["google", "new"],
          ["openai", "old"]
        ]
      )
    })
  )

  it.effect("CredentialRepository deletes an owner's credentials with the owner", () =>
    Effect.gen(function* () {
      const credentials = yield* CredentialRepository
      const owner = yield* insertUser()
      yield* credentials.set(owner.id, "whatsapp", Redacted.make("a token"))
      yield* sql`delete from users where id = ${owner.id}`
      assert.deepStrictEqual(yield* credentials.listKeys(owner.id), [])
    })
  )
})
