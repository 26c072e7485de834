import { failed, misconfigured } from "@berth/infra/process/ExitCode"
import { describe, expect, it } from "@effect/vitest"
import { Duration, FastCheck as fc } from "effect"
import { decide, mostFailuresAtStart, pause } from "../../src/programs/RestartDecision.ts"

const failures = fc.nat({ max: 2000 })
const seconds = fc.nat({ max: 100_000 })
const code = fc
  .oneof(fc.constantFrom(-1, 0, failed, 137, 143), fc.integer({ min: -1, max: 255 }))
  .filter((it) => it !== misconfigured)

const exit = (code: number, seconds: number) => ({
  code,
  words: `exit code ${code}`,
  ranFor: Duration.seconds(seconds)
})

describe("RestartDecision", () => {
  it.prop(
    "never starts a misconfigured program again",
    [failures, fc.boolean(), seconds],
    ([failures, wasUp, ranFor]) => {
      expect(decide({ failures, wasUp }, exit(misconfigured, ranFor))._tag).toBe("GiveUp")
    }
  )

  it.prop("never gives up on a service that was up", [failures, code, seconds], ([failures, code, ranFor]) => {
    expect(decide({ failures, wasUp: true }, exit(code, ranFor))._tag).toBe("Restart")
  })

  it.prop("waits longer the more often it failed, and never longer than half a minute", [failures], ([failures]) => {
    expect(Duration.toMillis(pause(failures + 1))).toBeGreaterThanOrEqual(Duration.toMillis(pause(failures)))
    expect(Duration.toMillis(pause(failures))).toBeGreaterThanOrEqual(250)
    expect(Duration.toMillis(pause(failures))).toBeLessThanOrEqual(30_000)
  })

  it.prop(
    "forgets earlier failures after a steady minute",
    [failures, code, fc.boolean()],
    ([failures, code, wasUp]) => {
      expect(decide({ failures, wasUp }, exit(code, 60))).toMatchObject({
        _tag: "Restart",
        failures: 1,
        after: pause(0)
      })
    }
  )

  it("gives up on a service that never comes up", () => {
    const tags = Array.from(
      { length: mostFailuresAtStart },
      (_, failures) => decide({ failures, wasUp: false }, exit(1, 1))._tag
    )
    expect(tags).toEqual([...Array.from({ length: mostFailuresAtStart - 1 }, () => "Restart"), "GiveUp"])
  })
})
