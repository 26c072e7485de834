import { failedExitCode, misconfiguredExitCode } from "@berth/infra/process/ExitCode"
import { assert, describe, it } from "@effect/vitest"
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

describe("decideProgramRestart", () => {
  it.prop(
    "decideProgramRestart never restarts a misconfigured program",
    [failures, fc.boolean(), seconds],
    ([failures, wasUp, ranFor]) => {
      assert.strictEqual(
        decideProgramRestart({ failures, hasBeenUp: wasUp }, exit(misconfiguredExitCode, ranFor))._tag,
        "GiveUp"
      )
    }
  )

  it.prop(
    "decideProgramRestart never gives up on a service that was up",
    [failures, code, seconds],
    ([failures, code, ranFor]) => {
      assert.strictEqual(decideProgramRestart({ failures, hasBeenUp: true }, exit(code, ranFor))._tag, "Restart")
    }
  )

  it.prop("decideProgramRestart waits longer with each failure, at most 30 seconds", [failures], ([failures]) => {
    assert.isAtLeast(
      Duration.toMillis(computeRestartDelay(failures + 1)),
      Duration.toMillis(computeRestartDelay(failures))
    )
    assert.isAtLeast(Duration.toMillis(computeRestartDelay(failures)), 250)
    assert.isAtMost(Duration.toMillis(computeRestartDelay(failures)), 30_000)
  })

  it.prop(
    "decideProgramRestart resets the failures after a stable minute",
    [failures, code, fc.boolean()],
    ([failures, code, wasUp]) => {
      assert.deepInclude(decideProgramRestart({ failures, hasBeenUp: wasUp }, exit(code, 60)), {
        _tag: "Restart",
        failures: 1,
        after: computeRestartDelay(0)
      })
    }
  )

  it("decideProgramRestart gives up on a service that never comes up", () => {
    const tags = Array.from(
      { length: maximumStartFailures },
      (_, failures) => decideProgramRestart({ failures, hasBeenUp: false }, exit(1, 1))._tag
    )
    assert.deepStrictEqual(tags, [...Array.from({ length: maximumStartFailures - 1 }, () => "Restart"), "GiveUp"])
  })
})
