import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { computeLastSeen, computeUptime } from "@berth/domain/interaction/health/AgentHealth"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, FastCheck, Option } from "effect"

const at = (millis: number) => DateTime.unsafeMake(millis)
const moment = FastCheck.nat()

describe("An agent's health", () => {
  it.prop(
    "An agent's health counts the time since its instance's start while it runs, never less than zero",
    [FastCheck.constantFrom(...AgentStatus.literals), FastCheck.option(moment), moment],
    ([status, start, now]) => {
      const up = status === "running" || status === "active"
      assert.strictEqual(
        Duration.toMillis(computeUptime(status, Option.map(Option.fromNullable(start), at), at(now))),
        up && start !== null ? Math.max(0, now - start) : 0
      )
    }
  )

  it.prop(
    "An agent's health has the latest activity, at least the time of its creation",
    [moment, FastCheck.array(FastCheck.option(moment), { maxLength: 3 })],
    ([made, signs]) =>
      assert.strictEqual(
        computeLastSeen(at(made), ...signs.map((sign) => Option.map(Option.fromNullable(sign), at))).epochMillis,
        Math.max(made, ...signs.map((sign) => sign ?? 0))
      )
  )
})
