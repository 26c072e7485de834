import { AgentId } from "@berth/domain/shared/AgentId"
import { withoutCanceled } from "@berth/server/mcp/McpMessages"
import { nameChatTool, nameSkillTool } from "@berth/server/mcp/ToolNames"
import { assert, it } from "@effect/vitest"

const id = AgentId.make("agt_0194f0b6c5d17d3f8a5b6c7d8e9f0a1b")

it("Tools of an agent have names of their own of at most 64 characters", () => {
  const long = "a".repeat(64)
  const tools = ["calculate", "chat", "skill_chat", "skill_skill_chat", long, `${long.slice(0, 63)}b`]
  const names = [nameChatTool(id), ...tools.map((tool) => nameSkillTool(tool, id))]
  assert.strictEqual(new Set(names).size, names.length)
  for (const name of names) assert.match(name, /^[A-Za-z0-9_]{1,64}$/)
  assert.strictEqual(names[1], "calculate_6c7d8e9f0a1b")
})

it("A batch leaves out the requests that it cancels itself, by the type and value of their ids", () => {
  const request = (requestId: string | number) => ({ jsonrpc: "2.0", id: requestId, method: "tools/list" })
  const cancel = (requestId: string | number) => ({
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId }
  })
  assert.deepStrictEqual(withoutCanceled([request(1), request("1"), request(2), cancel(1)]), [
    request("1"),
    request(2),
    cancel(1)
  ])
  for (const body of [request(1), cancel(1), [request(1)], [null, 1, "a"], null])
    assert.deepStrictEqual(withoutCanceled(body), body)
})
