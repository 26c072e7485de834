import { limitToolActivities, type ToolActivity } from "@berth/domain/skills/tools/ToolActivity"
import { assert, it } from "@effect/vitest"

const call = (id: number): ToolActivity => ({
  id: `0.${id}`,
  name: "notes__search",
  arguments: "{}",
  status: "succeeded",
  result: "x".repeat(4_000)
})

it("limitToolActivities keeps short lists, and of long ones every call without its later texts", () => {
  const few = [call(0), call(1)]
  assert.deepStrictEqual(limitToolActivities(few), few)
  const limited = limitToolActivities(Array.from({ length: 256 }, (_, id) => call(id)))
  assert.lengthOf(limited, 256)
  assert.deepInclude(limited.at(-1), { name: "notes__search", status: "succeeded", arguments: "…", result: "…" })
  assert.isBelow(JSON.stringify(limited).length, 100_000)
})

it("limitToolActivities bounds the calls of a runtime that reports any number at any length", () => {
  const flood = Array.from({ length: 1_000 }, (_, id) => ({
    ...call(id),
    name: "n".repeat(1_000),
    arguments: "x".repeat(9_000)
  }))
  assert.isBelow(JSON.stringify(limitToolActivities(flood)).length, 200_000)
})
