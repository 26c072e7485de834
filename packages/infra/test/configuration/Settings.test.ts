import { selectBotDetection } from "@berth/infra/wiring/AccountsWiring"
import { generateKeyEncryptionKeys } from "@berth/infra/crypto/AesGcmSecretBox"
import { generateJwtKey } from "@berth/infra/crypto/JwtKey"
import { checkSettings, loadSettings, settingNames } from "@berth/infra/configuration/SettingsLoader"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, Option, Redacted } from "effect"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryDirectory } from "../../../../test/support/TemporaryDirectories.ts"

const faultsOf = (environment: Record<string, string>) =>
  Effect.map(Effect.either(loadSettings(environment)), (loaded) =>
    Either.match(loaded, { onLeft: ({ faults }) => faults, onRight: () => [] })
  )

const example = readFileSync(new URL("../../../../.env.example", import.meta.url), "utf8")

const exampleNames = [...example.matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].flatMap(([, name]) =>
  name === undefined ? [] : [name]
)

const production = {
  BERTH_ENV: "production",
  APP_URL: "https://berth.example",
  DATABASE_URL: "postgres://berth@db/berth",
  INTERNAL_API_KEY: "k".repeat(32),
  SECRETS_KEYS: Redacted.value(generateKeyEncryptionKeys()),
  JWT_PRIVATE_KEY: Redacted.value(generateJwtKey()),
  SMTP_URL: "smtps://berth:secret@mail.example",
  MPP_RECIPIENT: `0x${"ab".repeat(20)}`,
  MPP_SECRET: "m".repeat(32),
  ALLOW_PROCESS_RUNTIME: "yes"
}

describe("settings", () => {
  it.effect("Settings require nothing in development", () =>
    Effect.gen(function* () {
      const settings = yield* loadSettings({})
      assert.strictEqual(settings.addresses.appUrl.href, "http://localhost:3000/")
      assert.strictEqual(settings.addresses.backendUrl.href, "http://localhost:4000/")
      assert.deepStrictEqual(settings.agentModels, ["claude-opus-4-6", "gpt-4"])
      assert.strictEqual(settings.limits.register.count, 10)
    })
  )

  it.effect("A price is a positive amount", () =>
    Effect.gen(function* () {
      const { prices } = yield* loadSettings({ PRICE_TTS: "0.000001" })
      assert.deepStrictEqual(prices, { agent: 0.05, "generate-text": 0.01, tts: 0.000001, stt: 0.02 })
      for (const wrong of ["0", "-1", "0.0000009", "10001", "Infinity", "NaN", "a cent"]) {
        const faults = yield* faultsOf({ PRICE_GENERATE_TEXT: wrong })
        assert.lengthOf(faults, 1, wrong)
        assert.include(faults[0], "PRICE_GENERATE_TEXT")
      }
    })
  )

  it.effect("The models of speech are OpenAI's by default, or of a provider with speech", () =>
    Effect.gen(function* () {
      const usual = yield* loadSettings({})
      assert.deepStrictEqual(usual.speech, {
        tts: { provider: "openai", name: "tts-1" },
        stt: { provider: "openai", name: "whisper-1" }
      })
      const others = yield* loadSettings({ TTS_MODEL: "openrouter/openai/tts-1", STT_MODEL: "groq/whisper-large-v3" })
      assert.deepStrictEqual(others.speech, {
        tts: { provider: "openrouter", name: "openai/tts-1" },
        stt: { provider: "groq", name: "whisper-large-v3" }
      })
      const faults = yield* faultsOf({ TTS_MODEL: "tts-1", STT_MODEL: "anthropic/claude" })
      assert.match(faults.join("\n"), /TTS_MODEL/)
      assert.match(faults.join("\n"), /STT_MODEL/)
    })
  )

  it.effect("Settings derive the domain of instances from the public host, unless it is an address or set", () =>
    Effect.gen(function* () {
      const domainOf = (environment: Readonly<Record<string, string>>) =>
        Effect.map(
          loadSettings({ BERTH_ENV: "development", ...environment }),
          ({ addresses }) => addresses.agentsDomain
        )
      assert.deepStrictEqual(
        yield* Effect.all([
          domainOf({}),
          domainOf({ APP_URL: "https://berth.example.com" }),
          domainOf({ APP_URL: "http://[::1]:3000" }),
          domainOf({ APP_URL: "https://berth.example.com", AGENTS_DOMAIN: "agents.example.net" })
        ]),
        ["agents.localhost", "agents.berth.example.com", "agents.localhost", "agents.example.net"]
      )
    })
  )

  it.effect("Settings derive addresses from the ports", () =>
    Effect.gen(function* () {
      const { addresses } = yield* loadSettings({ PORT: "3100", BACKEND_PORT: "4100" })
      assert.strictEqual(addresses.appUrl.href, "http://localhost:3100/")
      assert.strictEqual(addresses.backendUrl.href, "http://localhost:4100/")
    })
  )

  for (const level of ["warning", "WARN", "Info", "none"])
    it.effect(`LOG_LEVEL takes ${level}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* faultsOf({ LOG_LEVEL: level }), [])
      })
    )

  it.effect("A blank variable is not set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf({ DATABASE_URL: "", PORT: " ", LIMIT_REGISTER: "" }), [])
    })
  )

  it.effect("Every bad variable is named at once", () =>
    Effect.gen(function* () {
      const faults = yield* faultsOf({
        PORT: "abc",
        BERTH_ENV: "staging",
        LIMIT_REGISTER: "many",
        STREAM_RETENTION: "0m",
        SANDBOX_MODEL: "maybe",
        APP_URL: "ftp://x",
        LOG_LEVEL: "loud",
        TRUSTED_PROXIES: "10.0.0.0/8, proxy.example",
        STRIPE_CREDIT_PRICES: "price_1:5, price_1:6"
      })
      for (const name of [
        "PORT",
        "BERTH_ENV",
        "LIMIT_REGISTER",
        "STREAM_RETENTION",
        "SANDBOX_MODEL",
        "APP_URL",
        "LOG_LEVEL",
        "TRUSTED_PROXIES",
        "STRIPE_CREDIT_PRICES"
      ])
        assert.isTrue(
          faults.some((fault) => fault.includes(name)),
          `${name} is not named in ${faults.join(" | ")}`
        )
    })
  )

  it.effect("loadSettings reads INSTANCE_UIDS as the first and the last user id", () =>
    Effect.gen(function* () {
      const { instanceUids } = yield* loadSettings({ INSTANCE_UIDS: "30000-30999" })
      assert.deepStrictEqual(instanceUids, Option.some({ first: 30_000, size: 1000 }))
      for (const wrong of ["0-10", "30999-30000", "30000", "30000-", "a-b", "1-4294967295"]) {
        const faults = yield* faultsOf({ INSTANCE_UIDS: wrong })
        assert.lengthOf(faults, 1, wrong)
        assert.include(faults[0], "INSTANCE_UIDS")
      }
    })
  )

  it.effect("Settings accept the required variables in production", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf(production), [])
    })
  )

  for (const name of [
    "APP_URL",
    "DATABASE_URL",
    "INTERNAL_API_KEY",
    "SECRETS_KEYS",
    "JWT_PRIVATE_KEY",
    "SMTP_URL",
    "MPP_SECRET",
    "ALLOW_PROCESS_RUNTIME"
  ])
    it.effect(`Settings require ${name} in production`, () =>
      Effect.gen(function* () {
        const faults = yield* faultsOf({ ...production, [name]: "" })
        assert.isTrue(faults.some((fault) => fault.includes(name)))
      })
    )

  for (const name of ["INTERNAL_API_KEY", "MPP_SECRET"])
    it.effect(`findSettingsFaults rejects a ${name} of fewer than 32 UTF-8 bytes in production`, () =>
      Effect.gen(function* () {
        const short = yield* faultsOf({ ...production, [name]: "s".repeat(31) })
        assert.isTrue(short.some((fault) => fault.includes(name)))
        assert.deepStrictEqual(yield* faultsOf({ ...production, [name]: "\u00e9".repeat(16) }), [])
      })
    )

  for (const [name, value] of [
    ["INTERNAL_API_KEY", "\u043a".repeat(32)],
    ["OPENAI_API_KEY", "\u201csk-hunter2\u201d"],
    ["STRIPE_SECRET_KEY", "sk_test_hunter2\nsecond line"]
  ] as const)
    it.effect(`Settings reject ${name} with characters that no header can carry`, () =>
      Effect.gen(function* () {
        const faults = yield* faultsOf({ [name]: value })
        assert.deepStrictEqual(faults, [
          `${name}: must consist of characters that an HTTP header can carry; use printable ASCII`
        ])
      })
    )

  it.effect("Settings reject cards without webhooks in production", () =>
    Effect.gen(function* () {
      const faults = yield* faultsOf({ ...production, STRIPE_SECRET_KEY: "sk_live_hunter2" })
      assert.isTrue(faults.some((fault) => fault.includes("STRIPE_WEBHOOK_SECRET")))
      assert.notInclude(faults.join("\n"), "hunter2")
    })
  )

  it.effect("Settings reject the sandbox model and an insecure cookie in production", () =>
    Effect.gen(function* () {
      const faults = yield* faultsOf({ ...production, SANDBOX_MODEL: "on", APP_URL: "http://berth.example" })
      assert.isTrue(faults.some((fault) => fault.includes("SANDBOX_MODEL")))
      assert.isTrue(faults.some((fault) => fault.includes("APP_URL")))
    })
  )

  it.effect("Settings of mail have sender and server, and errors quote no password", () =>
    Effect.gen(function* () {
      const { mail } = yield* loadSettings({
        SMTP_URL: "smtp://berth%40mail:p%40ss@mail.example:2525",
        MAIL_FROM: ' "Berth, here" <no-reply@berth.example> '
      })
      assert.strictEqual(Redacted.value(Option.getOrThrow(mail.smtpUrl)).host, "mail.example:2525")
      assert.deepEqual(Option.getOrThrow(mail.from), { name: "Berth, here", address: "no-reply@berth.example" })
      const plain = yield* loadSettings({ MAIL_FROM: "no-reply@berth.example" })
      assert.deepEqual(Option.getOrThrow(plain.mail.from), { name: "", address: "no-reply@berth.example" })
      for (const [SMTP_URL, MAIL_FROM] of [
        ["https://a:hunter2@mail.example", "nobody"],
        ["hunter2", "Berth <nobody>"],
        ["smtp://a:hunter2%zz@mail.example", "a@b.example, c@d.example"],
        ["smtp:hunter2", "Berth\r\nBcc: <eve@example.com>"]
      ] as const) {
        const faults = yield* faultsOf({ SMTP_URL, MAIL_FROM })
        assert.lengthOf(faults, 2, faults.join(" | "))
        assert.isTrue(faults.some((fault) => fault.includes("SMTP_URL")))
        assert.isTrue(faults.some((fault) => fault.includes("MAIL_FROM")))
        assert.notInclude(faults.join(), "hunter2")
      }
    })
  )

  it.effect("The bot challenge requires its secret", () =>
    Effect.gen(function* () {
      const faults = yield* faultsOf({ BOT_DETECTION: "turnstile" })
      assert.isTrue(faults.some((fault) => fault.includes("TURNSTILE_SECRET")))
      assert.deepStrictEqual(yield* faultsOf({ BOT_DETECTION: "turnstile", TURNSTILE_SECRET: "s" }), [])
      assert.lengthOf(yield* faultsOf({ BOT_DETECTION: "maybe" }), 1)
    })
  )

  it.effect("Settings reject programs in production by default", () =>
    Effect.gen(function* () {
      assert.strictEqual(selectBotDetection(yield* loadSettings({})), "off")
      assert.strictEqual(selectBotDetection(yield* loadSettings(production)), "heuristic")
      assert.strictEqual(selectBotDetection(yield* loadSettings({ ...production, BOT_DETECTION: "off" })), "off")
    })
  )

  it.effect("An exposed service requires an explicit mode", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* faultsOf({ HOST: "0.0.0.0" })).some((fault) => fault.includes("BERTH_ENV")))
      assert.deepStrictEqual(yield* faultsOf({ HOST: "0.0.0.0", BERTH_ENV: "development" }), [])
    })
  )

  it.effect("Settings let instances sleep in production only, unless set", () =>
    Effect.gen(function* () {
      const idleOf = (environment: Record<string, string>) =>
        Effect.map(loadSettings(environment), ({ instanceIdle }) => Option.map(instanceIdle, Duration.format))
      assert.deepStrictEqual(yield* idleOf({}), Option.none())
      assert.deepStrictEqual(yield* idleOf(production), Option.some("15m"))
      assert.deepStrictEqual(yield* idleOf({ ...production, INSTANCE_IDLE: "off" }), Option.none())
      assert.deepStrictEqual(yield* idleOf({ INSTANCE_IDLE: "2s" }), Option.some("2s"))
      assert.include((yield* faultsOf({ INSTANCE_IDLE: "soon" })).join(), "INSTANCE_IDLE")
    })
  )

  it.effect(".env.example names exactly the variables that are read", () =>
    Effect.gen(function* () {
      const read = [...(yield* settingNames)].filter((name) => name !== "BERTH_SUPERVISED")
      assert.deepStrictEqual([...new Set(exampleNames)].toSorted(), read.toSorted())
    })
  )

  it.effect("An incomplete group of settings is reported by each of its names, with every problem of its values", () =>
    Effect.gen(function* () {
      const groups: ReadonlyArray<readonly [Readonly<Record<string, string>>, ReadonlyArray<string>]> = [
        [{ OAUTH_A_CLIENT_ID: "x" }, ["OAUTH_A_CLIENT_ID", "OAUTH_A_CLIENT_SECRET"]],
        [{ OAUTH_B_CLIENT_SECRET: "x" }, ["OAUTH_B_CLIENT_ID", "OAUTH_B_CLIENT_SECRET"]],
        [{ MUX_TOKEN_SECRET: "x" }, ["MUX_TOKEN_ID", "MUX_TOKEN_SECRET"]],
        [
          { CDP_PROJECT_ID: "x", CDP_API_KEY_ID: "y" },
          ["CDP_API_KEY_ID", "CDP_API_KEY_SECRET", "CDP_PROJECT_ID", "CDP_WALLET_SECRET"]
        ],
        [{ GATING_MIN_BALANCE: "5" }, ["GATING_MIN_BALANCE", "GATING_TOKEN_ADDRESS", "GATING_TOKEN_SYMBOL"]],
        [
          { GATING_MIN_BALANCE: "abc", GATING_TOKEN_ADDRESS: "0x12" },
          [
            "GATING_MIN_BALANCE",
            "GATING_MIN_BALANCE",
            "GATING_TOKEN_ADDRESS",
            "GATING_TOKEN_ADDRESS",
            "GATING_TOKEN_SYMBOL"
          ]
        ]
      ]
      for (const [environment, named] of groups) {
        const faults = yield* faultsOf({ ...environment, BOT_DETECTION: "turnstile" })
        assert.sameMembers(
          faults.map((fault) => fault.split(":")[0]),
          [...named, "TURNSTILE_SECRET"],
          faults.join(" | ")
        )
      }
    })
  )

  it.effect("Settings accept the documented forms of card secrets and the least retention", () =>
    Effect.gen(function* () {
      for (const STRIPE_SECRET_KEY of ["sk_test_1", "rk_live_1"])
        assert.deepStrictEqual(
          yield* faultsOf({
            STRIPE_SECRET_KEY,
            STRIPE_WEBHOOK_SECRET: "whsec_1",
            STRIPE_PRICE_SOLO: "price_1",
            STRIPE_API_URL: "http://localhost:12111/",
            RESERVATION_RETENTION: "48h",
            AGENT_MODELS: "claude-opus-4-6, openai/gpt-4",
            METRICS_HOST: "::"
          }),
          []
        )
    })
  )

  const badValues = {
    PORT: "99999",
    BERTH_ENV: "prod",
    HOST: "http://0.0.0.0:3000",
    APP_URL: "https://berth.example/app",
    DATABASE_URL: "berth:hunter2@db:5432",
    REDIS_URL: "http://:hunter2@redis:6379",
    SMTP_URL: "mail.example:hunter2",
    OPENAI_BASE_URL: "api.openai.com",
    SECRETS_KEYS: `a:${Buffer.alloc(31).toString("base64")}`,
    JWT_PRIVATE_KEY: "hunter2",
    ADMIN_EMAILS: "owner",
    OUTBOUND_ALLOW_CIDRS: "10.0.0.0",
    SALES_EMAIL: "sales",
    REFERRAL_CREDITS: "-1",
    OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_METRICS_EXPORTER: "prometheus",
    OTEL_METRIC_EXPORT_INTERVAL: "1",
    RESERVATION_RETENTION: "47h",
    INTERNAL_API_KEY: "hunter2",
    AGENT_MODELS: ",",
    METRICS_HOST: "???",
    RUNTIME_BACKEND_URL: "http://berth-backend:4001/runtime",
    STRIPE_API_URL: "http://localhost:12111/stripe",
    STRIPE_SECRET_KEY: "hunter2",
    STRIPE_WEBHOOK_SECRET: "hunter2",
    STRIPE_PRICE_SOLO: "hunter 2",
    OTEL_RESOURCE_ATTRIBUTES: "team=a%ZZ",
    LIMIT_REGISTER: "abc"
  }

  it.effect("checkSettings names every bad variable once in one message, with the combinations of the good ones", () =>
    Effect.gen(function* () {
      const { faults, message } = yield* Effect.flip(
        checkSettings({ ...badValues, BOT_DETECTION: "turnstile", LIMIT_GATWAY: "hunter2" }, "worker")
      )
      assert.sameMembers(
        faults.map((fault) => fault.split(":")[0]),
        [...Object.keys(badValues), "TURNSTILE_SECRET"]
      )
      for (const fault of faults) assert.include(message, `\n  ${fault}`)
      assert.include(message, "LIMIT_GATWAY is not a setting. Did you mean LIMIT_GATEWAY?")
      assert.notInclude(message, "hunter2")
    })
  )

  it.effect("checkSettings names a bad variable by its setting, whichever it is", () =>
    Effect.gen(function* () {
      const names = yield* settingNames
      const { faults } = yield* Effect.flip(
        checkSettings(Object.fromEntries([...names].map((name) => [name, "?:="])), "server")
      )
      for (const fault of faults) assert.isTrue(names.has(fault.split(":")[0] ?? ""), fault)
      assert.isAbove(faults.length, 60)
    })
  )

  it.effect("checkSettings rejects two listeners of one process on one port, and takes them in two processes", () =>
    Effect.gen(function* () {
      const same = { PORT: "3000", BACKEND_PORT: "3000" }
      assert.match((yield* Effect.flip(checkSettings(same, "supervisor"))).message, /BACKEND_PORT: is 3000 like PORT/)
      yield* Effect.flip(checkSettings(same, "server"))
      yield* Effect.flip(checkSettings({ WORKER_HEALTH_PORT: "4000" }, "supervisor"))
      yield* checkSettings({ ...same, SERVER_ROLE: "web" }, "server")
      yield* checkSettings({ ...same, BACKEND_HOST: "127.0.0.2" }, "supervisor")
    })
  )

  it.scoped("checkSettings rejects a data directory that cannot be made, and makes none", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const file = join(directory, "file")
      writeFileSync(file, "")
      for (const DATA_DIR of [file, join(file, "below"), "/proc/berth", join(directory, "a*b")]) {
        const { faults } = yield* Effect.flip(checkSettings({ DATA_DIR }, "supervisor"))
        assert.lengthOf(faults, 1, DATA_DIR)
        assert.match(faults[0] ?? "", /^DATA_DIR: /)
      }
      yield* checkSettings({ DATA_DIR: join(directory, "a name", "with spaces") }, "supervisor")
      yield* checkSettings({ ...production, DATA_DIR: file, SERVER_ROLE: "web" }, "server")
      assert.deepStrictEqual(readdirSync(directory), ["file"])
    })
  )

  it.effect("checkSettings requires a database in production, except of the supervisor that runs one", () =>
    Effect.gen(function* () {
      const { DATABASE_URL: _, ...embedded } = production
      yield* checkSettings(embedded, "supervisor")
      for (const program of ["server", "worker"] as const)
        assert.match((yield* Effect.flip(checkSettings(embedded, program))).message, /DATABASE_URL: is required/)
    })
  )

  it.effect("Settings of Kubernetes require an address of the runtime routes with a port of its own", () =>
    Effect.gen(function* () {
      const environment = { AGENT_RUNTIME: "kubernetes" }
      const check = (changes: Record<string, string>, program: "server" | "worker" = "server") =>
        Effect.map(Effect.either(checkSettings({ ...environment, ...changes }, program)), (checked) =>
          Either.match(checked, { onLeft: ({ faults }) => faults.join("; "), onRight: () => "" })
        )
      assert.include(yield* check({}), "RUNTIME_BACKEND_URL: is required with AGENT_RUNTIME=kubernetes")
      for (const port of [3000, 4000])
        assert.include(
          yield* check({ RUNTIME_BACKEND_URL: `http://berth.berth.svc:${port}` }),
          "RUNTIME_BACKEND_URL: must have another port"
        )
      assert.strictEqual(yield* check({ RUNTIME_BACKEND_URL: "http://berth.berth.svc:4001" }), "")
      assert.strictEqual(yield* check({}, "worker"), "")
      assert.strictEqual(yield* check({ SERVER_ROLE: "web" }), "")
    })
  )

  it.effect("Settings of Kubernetes require a digest of the runtime image in production", () =>
    Effect.gen(function* () {
      const environment = {
        ...production,
        AGENT_RUNTIME: "kubernetes",
        RUNTIME_BACKEND_URL: "http://berth-backend.berth.svc:4001"
      }
      const failure = yield* Effect.flip(checkSettings(environment, "server"))
      assert.include(failure.faults.join("; "), "RUNTIME_IMAGE: must end with a digest")
      const image = `registry.example.com/berth-runtime@sha256:${"a".repeat(64)}`
      yield* checkSettings({ ...environment, RUNTIME_IMAGE: image }, "server")
    })
  )
})
