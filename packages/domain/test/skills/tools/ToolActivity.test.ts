import { limitStoredActivities, type ToolActivity } from "@berth/domain/skills/tools/ToolActivity"
import { assert, it } from "@effect/vitest"

const call = (id: number): ToolActivity => ({
  id: `0.${id}`,
  name: "notes__search",
  arguments: "{}",
  status: "succeeded",
  result: "x".repeat(4_000)
})

it("limitStoredActivities keeps short lists, and of long ones every call without its later texts", () => {
  const few = [call(0), call(1)]
  assert.deepStrictEqual(limitStoredActivities(few), few)
  const limited = limitStoredActivities(Array.from({ length: 256 }, (_, id) => call(id)))
  assert.lengthOf(limited, 256)
  assert.deepInclude(limited.at(-1), { name: "notes__search", status: "succeeded", arguments: "…", result: "…" })
  assert.isBelow(JSON.stringify(limited).length, 100_000)
})
