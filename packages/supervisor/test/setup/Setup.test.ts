import { checkSettings } from "@berth/infra/configuration/SettingsLoader"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Option } from "effect"
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { formatEnvLine } from "../../src/setup/EnvFile.ts"
import { describeSetupFailure, setUp, type SetupOptions } from "../../src/setup/Setup.ts"
import { temporaryDirectory } from "../../../../test/support/TemporaryDirectories.ts"

const minimal = {
  APP_URL: "https://berth.example",
  DATABASE_URL: "postgres://berth:p%23ss@db.example/berth",
  SMTP_URL: "smtps://berth:hunter2@mail.example"
}

const generated = ["INTERNAL_API_KEY", "JWT_PRIVATE_KEY", "MPP_SECRET", "SECRETS_KEYS"]

const fixtures = Effect.map(temporaryDirectory, (directory) => {
  const file = join(directory, ".env")
  return {
    file,
    read: () => parseEnv(readFileSync(file, "utf8")),
    run: (options: Partial<SetupOptions> = {}) =>
      setUp({ directory, flags: {}, environment: {}, ask: Option.none(), programs: "/dist", ...options })
  }
})

/** Answers questions by the setting at their end. */
const answering = (answers: Readonly<Record<string, ReadonlyArray<string>>>) => {
  const left = new Map(Object.entries(answers).map(([name, values]) => [name, [...values]]))
  const requests: Array<string> = []
  const ask = (question: string) =>
    Effect.sync(() => {
      const name = /(\w+): $/.exec(question)?.[1] ?? ""
      requests.push(name)
      return left.get(name)?.shift() ?? ""
    })
  return { ask: Option.some(ask), requests }
}

describe("setUp", () => {
  it.scoped("setUp writes a file of mode 0600 with generated keys that the settings check accepts", () =>
    Effect.gen(function* () {
      const { file, read, run } = yield* fixtures
      yield* run({ environment: minimal, flags: { PORT: "3100", MAIL_FROM: "Berth <no-reply@berth.example>" } })
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const written = read()
      assert.containSubset(written, {
        ...minimal,
        BERTH_ENV: "production",
        PORT: "3100",
        MAIL_FROM: "Berth <no-reply@berth.example>",
        AGENT_RUNTIME: "process",
        ALLOW_PROCESS_RUNTIME: "yes"
      })
      assert.includeMembers(Object.keys(written), generated)
      assert.deepStrictEqual((yield* checkSettings(written, "worker")).warnings, [])
    })
  )

  it.scoped("setUp keeps every value of an existing file, and is idempotent", () =>
    Effect.gen(function* () {
      const { file, read, run } = yield* fixtures
      writeFileSync(
        file,
        "# ours\nSECRETS_KEYS=\nINTERNAL_API_KEY=0123456789012345678901234567890123456789\nSMTP_URL=smtp://mine"
      )
      chmodSync(file, 0o644)
      yield* run({ environment: minimal, flags: { SMTP_URL: "smtp://other" } })
      const text = readFileSync(file, "utf8")
      assert.isTrue(text.startsWith("# ours\nSECRETS_KEYS=\n"))
      // Other readers of env files do not support comments after a value.
      assert.include(text, "\nSMTP_URL=smtp://mine\n")
      assert.containSubset(read(), {
        INTERNAL_API_KEY: "0123456789012345678901234567890123456789",
        SMTP_URL: "smtp://mine"
      })
      assert.isNotEmpty(read().SECRETS_KEYS)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      yield* run({ environment: minimal })
      assert.strictEqual(readFileSync(file, "utf8"), text)
    })
  )

  it.scoped("setUp names every missing or wrong value, and writes nothing", () =>
    Effect.gen(function* () {
      const { file, run } = yield* fixtures
      const error = yield* Effect.flip(run({ environment: { SMTP_URL: "mail:hunter2", MPP_RECIPIENT: "0x12" } }))
      const message = describeSetupFailure(error)
      for (const name of ["APP_URL", "DATABASE_URL", "SMTP_URL", "MPP_RECIPIENT"])
        assert.include(message, `\n  ${name}: `)
      assert.notInclude(message, "hunter2")
      assert.isFalse(existsSync(file))
    })
  )

  it.scoped("setUp prompts for missing values, again after an invalid one", () =>
    Effect.gen(function* () {
      const { read, run } = yield* fixtures
      const { ask, requests } = answering({
        APP_URL: ["", "berth.example", "https://berth.example"],
        DATABASE_URL: [minimal.DATABASE_URL],
        STRIPE_SECRET_KEY: ["sk_1"],
        STRIPE_WEBHOOK_SECRET: ["", "whsec_1"],
        provider: ["nobody", "Groq"],
        GROQ_API_KEY: ["gsk_1"]
      })
      yield* run({ ask, environment: { SMTP_URL: minimal.SMTP_URL } })
      assert.deepStrictEqual(
        requests.filter((name) => ["APP_URL", "SMTP_URL", "STRIPE_WEBHOOK_SECRET", "provider"].includes(name)),
        ["APP_URL", "APP_URL", "APP_URL", "STRIPE_WEBHOOK_SECRET", "STRIPE_WEBHOOK_SECRET", "provider", "provider"]
      )
      assert.containSubset(read(), {
        APP_URL: "https://berth.example",
        GROQ_API_KEY: "gsk_1",
        STRIPE_SECRET_KEY: "sk_1"
      })
    })
  )
})

describe("formatEnvLine", () => {
  it.effect.prop(
    "formatEnvLine writes values that parse to themselves, or rejects them",
    [fc.string({ unit: "grapheme-ascii" })],
    ([sample]) =>
      Effect.gen(function* () {
        const value = sample.trim()
        const line = yield* Effect.option(formatEnvLine("NAME", value))
        if (Option.isSome(line)) assert.strictEqual(parseEnv(line.value)["NAME"], value)
        else assert.match(value, /[\r\n]|'.*["\\]|["\\].*'/)
      })
  )
})
