import { failedExitCode, misconfiguredExitCode } from "@berth/infra/process/ExitCode"
import { describe, expect, it } from "@effect/vitest"
import { Duration, FastCheck as fc } from "effect"
import { decideProgramRestart, maximumStartFailures, computeRestartDelay } from "../../src/programs/RestartDecision.ts"

const failures = fc.nat({ max: 2000 })
const seconds = fc.nat({ max: 100_000 })
const code = fc
  .oneof(fc.constantFrom(-1, 0, failedExitCode, 137, 143), fc.integer({ min: -1, max: 255 }))
  .filter((it) => it !== misconfiguredExitCode)

const exit = (code: number, seconds: number) => ({
  code,
  description: `exit code ${code}`,
  ranFor: Duration.seconds(seconds)
})

describe("RestartDecision", () => {
  it.prop(
    "never starts a misconfigured program again",
    [failures, fc.boolean(), seconds],
    ([failures, wasUp, ranFor]) => {
      expect(decideProgramRestart({ failures, hasBeenUp: wasUp }, exit(misconfiguredExitCode, ranFor))._tag).toBe(
        "GiveUp"
      )
    }
  )

  it.prop("never gives up on a service that was up", [failures, code, seconds], ([failures, code, ranFor]) => {
    expect(decideProgramRestart({ failures, hasBeenUp: true }, exit(code, ranFor))._tag).toBe("Restart")
  })

  it.prop("waits longer the more often it failed, and never longer than half a minute", [failures], ([failures]) => {
    expect(Duration.toMillis(computeRestartDelay(failures + 1))).toBeGreaterThanOrEqual(
      Duration.toMillis(computeRestartDelay(failures))
    )
    expect(Duration.toMillis(computeRestartDelay(failures))).toBeGreaterThanOrEqual(250)
    expect(Duration.toMillis(computeRestartDelay(failures))).toBeLessThanOrEqual(30_000)
  })

  it.prop(
    "forgets earlier failures after a steady minute",
    [failures, code, fc.boolean()],
    ([failures, code, wasUp]) => {
      expect(decideProgramRestart({ failures, hasBeenUp: wasUp }, exit(code, 60))).toMatchObject({
        _tag: "Restart",
        failures: 1,
        after: computeRestartDelay(0)
      })
    }
  )

  it("gives up on a service that never comes up", () => {
    const tags = Array.from(
      { length: maximumStartFailures },
      (_, failures) => decideProgramRestart({ failures, hasBeenUp: false }, exit(1, 1))._tag
    )
    expect(tags).toEqual([...Array.from({ length: maximumStartFailures - 1 }, () => "Restart"), "GiveUp"])
  })
})
