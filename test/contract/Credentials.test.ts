import { CredentialKey } from "@berth/domain/secrets/Credential"
import { CredentialRepository } from "@berth/domain/secrets/CredentialRepository"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { uniqueName } from "../support/Samples.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const none = Object.fromEntries(CredentialKey.literals.map((key) => [key, false]))

const set = (as: App.SignedIn, key: string, value: unknown) =>
  App.web({ method: "POST", path: "/api/agent", as, json: { action: "set-credential", key, value } })
const mapOf = (as: App.SignedIn) =>
  Effect.map(App.web({ method: "GET", path: "/api/agent?action=credentials", as }), ({ body }) => body["credentials"])

layer(App.shared, { excludeTestServices: true })("Credentials", (it) => {
  it.effect("Credentials are listed as configured to their owner only, with or without an agent", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* App.signInNewUser(), yield* createOwnerWithAgent()]
      assert.deepStrictEqual(yield* mapOf(owner), none)
      for (const [index, key] of CredentialKey.literals.entries()) {
        const answer = yield* set(owner, key, `value of ${key}`)
        assert.deepStrictEqual([answer.status, answer.body], [200, { success: true, key, configured: true }])
        const there = CredentialKey.literals.slice(0, index + 1).map((known) => [known, true])
        assert.deepStrictEqual(yield* mapOf(owner), { ...none, ...Object.fromEntries(there) })
      }
      assert.deepStrictEqual(yield* mapOf(stranger), none)
    })
  )

  it.effect("Credentials are replaced by a valid value, and kept when a new value is rejected", () =>
    Effect.gen(function* () {
      const credentials = yield* CredentialRepository
      const owner = yield* App.signInNewUser()
      const kept = Effect.map(credentials.decrypt(owner.user.id, ["openai"]), ({ openai }) =>
        openai === undefined ? null : Redacted.value(openai)
      )
      assert.strictEqual((yield* set(owner, "openai", "\tsk-first \n")).status, 200)
      assert.strictEqual(yield* kept, "sk-first")
      for (const value of ["", " ", "v".repeat(8_193), "a\nb", 7, null])
        assert.strictEqual((yield* set(owner, "openai", value)).status, 400)
      assert.strictEqual(yield* kept, "sk-first")
      assert.strictEqual((yield* set(owner, "openai", "v".repeat(8_192))).status, 200)
      assert.strictEqual(yield* kept, "v".repeat(8_192))
    })
  )

  it.effect("Credentials appear in no response, log or row", () =>
    Effect.gen(function* () {
      const { logLines } = yield* App.TestApp
      const owner = yield* createOwnerWithAgent()
      const secret = `sk-${yield* uniqueName("secret")}`
      const answers = [
        yield* set(owner, "openai", secret),
        yield* set(owner, "openai", { key: secret }),
        yield* set(owner, "openai", [secret]),
        yield* set(owner, "openai", `${secret}\n${secret}`),
        yield* set(owner, "nobody", secret),
        yield* sql`alter table credentials rename to hidden`.pipe(
          Effect.zipRight(set(owner, "openai", secret)),
          Effect.ensuring(Effect.orDie(sql`alter table hidden rename to credentials`))
        )
      ]
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 400, 400, 400, 400, 500]
      )
      const rows = yield* sql`select credentials::text as text from credentials where user_id = ${owner.user.id}`
      assert.lengthOf(rows, 1)
      const lines = yield* logLines
      assert.isTrue(lines.some((line) => line.includes("Credential set") && line.includes(owner.user.id)))
      const everything = [...answers.map(({ text }) => text), ...lines, JSON.stringify(rows)].join("\n")
      for (const hidden of [secret, Buffer.from(secret).toString("base64url")]) assert.notInclude(everything, hidden)
    })
  )
})
