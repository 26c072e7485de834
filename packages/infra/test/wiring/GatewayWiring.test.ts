import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import * as GatewayWiring from "@berth/infra/wiring/GatewayWiring"
import { generateKeyEncryptionKeys } from "@berth/infra/crypto/AesGcmSecretBox"
import { generateJwtKey } from "@berth/infra/crypto/JwtKey"
import { loadSettings } from "@berth/infra/configuration/SettingsLoader"
import { resolveTempoNetwork } from "@berth/infra/configuration/TempoNetwork"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "berth-payments-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const recipient = `0x${"ab".repeat(20)}`

/** The payment terms of a process with these settings, and its signature of a text. */
const started = (environment: Record<string, string>) =>
  Effect.gen(function* () {
    const settings = yield* loadSettings(environment)
    const context = yield* Layer.build(GatewayWiring.settingsFromSettings(settings))
    return Context.get(context, GatewaySettings).payments
  })

const enabled = (environment: Record<string, string>) => Effect.flatten(started(environment))

const chainOf = (environment: Record<string, string>) =>
  Effect.map(loadSettings(environment), (settings) =>
    Option.map(resolveTempoNetwork(settings), ({ chainId, rpcUrl }) => `${chainId} ${Redacted.value(rpcUrl).href}`)
  )

const faultsOf = (environment: Record<string, string>) =>
  Effect.map(Effect.flip(loadSettings(environment)), ({ faults }) => faults.join("\n"))

describe("Payments by machines", () => {
  it.scopedLive("Machine payments use a generated treasury and secret in development", () =>
    Effect.gen(function* () {
      const DATA_DIR = join(yield* directory, "data")
      const [first, second] = [yield* enabled({ DATA_DIR }), yield* enabled({ DATA_DIR, PORT: "3100" })]
      assert.match(first.recipient, /^0x[0-9a-fA-F]{40}$/)
      assert.strictEqual(second.recipient, first.recipient)
      assert.strictEqual(Redacted.value(second.secret), Redacted.value(first.secret))
      assert.deepStrictEqual([first.realm, second.realm], ["localhost:3000", "localhost:3100"])
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(join(DATA_DIR, "keys"))), [
        "mpp-secret",
        "mpp-treasury-key"
      ])
    })
  )

  it.scopedLive("Machine payments use the configured treasury and secret, and generate nothing", () =>
    Effect.gen(function* () {
      const DATA_DIR = join(yield* directory, "data")
      const set = { DATA_DIR, MPP_RECIPIENT: recipient, MPP_SECRET: "long enough for a secret" }
      assert.strictEqual((yield* enabled(set)).recipient, recipient)
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(join(DATA_DIR, ".."))), [])
    })
  )

  it.scopedLive("Machine payments are off in production without a recipient, and no wallet is generated", () =>
    Effect.gen(function* () {
      const DATA_DIR = join(yield* directory, "data")
      const production = {
        DATA_DIR,
        BERTH_ENV: "production",
        APP_URL: "https://berth.example",
        DATABASE_URL: "postgres://berth@db/berth",
        INTERNAL_API_KEY: "k".repeat(32),
        SECRETS_KEYS: Redacted.value(generateKeyEncryptionKeys()),
        JWT_PRIVATE_KEY: Redacted.value(generateJwtKey()),
        SMTP_URL: "smtps://mail.example",
        ALLOW_PROCESS_RUNTIME: "yes"
      }
      assert.isTrue(Option.isNone(yield* started(production)))
      assert.deepStrictEqual(yield* Effect.promise(() => readdir(join(DATA_DIR, ".."))), [])
      assert.include(yield* faultsOf({ ...production, MPP_RECIPIENT: recipient }), "MPP_SECRET: is required")
    })
  )

  it.effect("Machine payments use the test network in development, and any chain with a node", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* chainOf({}), Option.some("42431 https://rpc.moderato.tempo.xyz/"))
      assert.deepStrictEqual(yield* chainOf({ MPP_CHAIN_ID: "4217" }), Option.some("4217 https://rpc.tempo.xyz/"))
      assert.deepStrictEqual(
        yield* chainOf({ MPP_CHAIN_ID: "1337", MPP_RPC_URL: "http://127.0.0.1:8545" }),
        Option.some("1337 http://127.0.0.1:8545/")
      )
      assert.include(yield* faultsOf({ MPP_CHAIN_ID: "1337" }), "MPP_RPC_URL")
    })
  )

  it.effect("Machine payments validate their settings and quote no secret", () =>
    Effect.gen(function* () {
      const faults = yield* faultsOf({
        MPP_RECIPIENT: "0x12",
        MPP_CURRENCY: "usd",
        MPP_RPC_URL: "hunter2",
        MPP_CHAIN_ID: "0"
      })
      for (const name of ["MPP_RECIPIENT", "MPP_CURRENCY", "MPP_RPC_URL", "MPP_CHAIN_ID"]) assert.include(faults, name)
      assert.notInclude(faults, "hunter2")
      const short = yield* faultsOf({ MPP_SECRET: "hunter2" })
      assert.include(short, "MPP_SECRET")
      assert.notInclude(short, "hunter2")
    })
  )
})
