import { currentTimeTool } from "@berth/domain/skills/time/CurrentTimeTool"
import { assert, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"

it.effect("The tool current_time returns the time in the agent's zone or in a requested zone", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2026, 0, 15, 23, 30, 59))
    // Versions of ICU differ about the comma.
    const tell = (args: string, timezone = "Europe/Paris") =>
      Effect.map(currentTimeTool.run(args, { timezone }), (text) => text.replace(",", ""))
    assert.strictEqual(yield* tell(""), "Friday 16 January 2026 at 00:30 (Europe/Paris)\n2026-01-16T00:30:59+01:00")
    assert.strictEqual(
      yield* tell("{}", "Middle/Earth"),
      "Thursday 15 January 2026 at 23:30 (UTC)\n2026-01-15T23:30:59+00:00"
    )
    assert.include(yield* tell(`{"timezone":"Asia/Kolkata"}`), "2026-01-16T05:00:59+05:30")
    assert.include((yield* Effect.flip(tell(`{"timezone":"Moon"}`))).reason, "no such time zone")
  })
)
