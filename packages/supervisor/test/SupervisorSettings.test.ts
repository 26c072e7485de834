import { describeConfigError, makeEnvironmentProvider } from "@berth/infra/configuration/EnvironmentProvider"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, FastCheck as fc, Option } from "effect"
import { isAbsolute } from "node:path"
import { supervisorSettings } from "../src/SupervisorSettings.ts"
import { toLocalAddress } from "../src/Readiness.ts"

const from = (variables: Record<string, string>) =>
  Effect.withConfigProvider(supervisorSettings, makeEnvironmentProvider(variables))

describe("settings", () => {
  it.effect("has a default for everything", () =>
    Effect.gen(function* () {
      const chosen = yield* from({})
      expect(chosen).toMatchObject({ host: "127.0.0.1", port: 3000, backendPort: 4000, databaseUrl: Option.none() })
      expect(isAbsolute(chosen.dataDirectory)).toBe(true)
      expect(Duration.toSeconds(chosen.workerDrain)).toBe(300)
    })
  )

  it.effect("takes an empty variable for one that is not set", () =>
    Effect.gen(function* () {
      const chosen = yield* from({ DATABASE_URL: "", DATA_DIR: " ", HOST: "", PORT: "", LOG_FORMAT: "" })
      expect(chosen.databaseUrl).toEqual(Option.none())
      expect(chosen.dataDirectory.endsWith(".data")).toBe(true)
    })
  )

  it.effect("names every variable that cannot work, and no secret", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        from({ PORT: "x", WORKER_DRAIN_SECONDS: "y", DATABASE_URL: "postgres://a:hush@b" })
      )
      expect(describeConfigError(error).map((line) => line.split(":")[0])).toEqual(["PORT", "WORKER_DRAIN_SECONDS"])
      expect(describeConfigError(error).join()).not.toContain("hush")
    })
  )

  it.prop(
    "reaches every listener of this machine by URL",
    [fc.oneof(fc.constantFrom("0.0.0.0", "::", "::1", "localhost"), fc.ipV4(), fc.ipV6())],
    ([host]) => {
      expect(() => new URL(`http://${toLocalAddress(host)}:3000/`)).not.toThrow()
    }
  )
})
