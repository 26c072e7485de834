import { describeConfigError, makeEnvironmentProvider } from "@berth/infra/configuration/EnvironmentProvider"
import { assert, describe, it } from "@effect/vitest"
import { Config, ConfigError, Effect, FastCheck, Option } from "effect"

describe("environmentProvider", () => {
  it.effect.prop("environmentProvider trims variables; a blank one is not set", [FastCheck.string()], ([value]) =>
    Effect.gen(function* () {
      const read = yield* Config.option(Config.string("NAME")).pipe(
        Effect.withConfigProvider(makeEnvironmentProvider({ NAME: value, OTHER: undefined }))
      )
      assert.deepStrictEqual(read, value.trim() === "" ? Option.none() : Option.some(value.trim()))
    })
  )
})

describe("describeConfigError", () => {
  const missing = ConfigError.MissingData(["A"], "no matter what")
  const bad = ConfigError.InvalidData(["LIMIT", "B"], "must be a number")

  it("describeConfigError names each variable and its problem once", () => {
    assert.deepStrictEqual(describeConfigError(missing), ["A: is missing"])
    assert.deepStrictEqual(describeConfigError(ConfigError.And(missing, ConfigError.Or(bad, missing))), [
      "A: is missing",
      "LIMIT_B: must be a number"
    ])
  })
})
