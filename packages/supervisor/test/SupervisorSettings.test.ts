import { checkSettings } from "@berth/infra/configuration/SettingsLoader"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FastCheck as fc, Option } from "effect"
import { isAbsolute } from "node:path"
import { findWorkerMetricsPort, formatStartupMessage } from "../src/Supervisor.ts"
import { toSupervisorSettings } from "../src/SupervisorSettings.ts"
import { toLocalAddress } from "@berth/infra/net/ListenHosts"

const from = (variables: Record<string, string>) =>
  Effect.map(checkSettings(variables, "supervisor"), ({ settings }) => toSupervisorSettings(settings))

describe("toSupervisorSettings", () => {
  it.effect("toSupervisorSettings has a default for every variable", () =>
    Effect.gen(function* () {
      const chosen = yield* from({})
      assert.deepInclude(chosen, { host: "127.0.0.1", port: 3000, backendPort: 4000, databaseUrl: Option.none() })
      assert.isTrue(isAbsolute(chosen.dataDirectory))
      assert.strictEqual(Duration.toSeconds(chosen.workerDrain), 300)
    })
  )

  it.effect("toSupervisorSettings treats an empty variable as absent", () =>
    Effect.gen(function* () {
      const chosen = yield* from({ DATABASE_URL: "", DATA_DIR: " ", HOST: "", PORT: "", LOG_FORMAT: "" })
      assert.deepStrictEqual(chosen.databaseUrl, Option.none())
      assert.isTrue(chosen.dataDirectory.endsWith(".data"))
    })
  )

  it.effect("The worker's METRICS_PORT follows the server's, and stays a port", () =>
    Effect.gen(function* () {
      const portOf = (METRICS_PORT: string) => Effect.map(from({ METRICS_PORT }), findWorkerMetricsPort)
      assert.deepStrictEqual(yield* portOf(""), {})
      assert.deepStrictEqual(yield* portOf("9464"), { METRICS_PORT: "9465" })
      assert.deepStrictEqual(yield* portOf("65535"), { METRICS_PORT: "65535" })
    })
  )

  it.effect("The message after a start names APP_URL, where sign-in works, and by default the port", () =>
    Effect.gen(function* () {
      const pageOf = (variables: Record<string, string>) =>
        Effect.map(from(variables), (settings) => /^ {2}(\S+)$/m.exec(formatStartupMessage(settings))?.[1])
      assert.strictEqual(yield* pageOf({ PORT: "3100" }), "http://localhost:3100")
      assert.strictEqual(
        yield* pageOf({ APP_URL: "https://berth.example", BERTH_ENV: "development" }),
        "https://berth.example"
      )
    })
  )

  it.effect("toSupervisorSettings names every invalid variable, and no secret", () =>
    Effect.gen(function* () {
      const { faults } = yield* Effect.flip(
        from({ PORT: "x", WORKER_DRAIN_SECONDS: "y", DATABASE_URL: "postgres://a:hush@b" })
      )
      assert.deepStrictEqual(
        faults.map((line) => line.split(":")[0]),
        ["PORT", "WORKER_DRAIN_SECONDS"]
      )
      assert.notInclude(faults.join(), "hush")
    })
  )

  it.prop(
    "toSupervisorSettings maps every listen address to a local URL host",
    [fc.oneof(fc.constantFrom("0.0.0.0", "::", "::1", "localhost"), fc.ipV4(), fc.ipV6())],
    ([host]) => {
      assert.doesNotThrow(() => new URL(`http://${toLocalAddress(host)}:3000/`))
    }
  )
})
