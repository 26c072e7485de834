import type { ErrorRow } from "../ErrorRow.ts"
import { ofOneAgent } from "./AgentDetailRows.ts"

const route = "POST /api/a2a/:agentId/messages"

const message = (
  when: string,
  changes: Readonly<Record<string, unknown>>,
  expected: Pick<ErrorRow, "status" | "code" | "fields">
): ErrorRow => ({
  when,
  route,
  call: ({ idle, owner }) => ({
    as: owner,
    path: `/api/a2a/${idle.agent.id}/messages`,
    json: {
      version: "1.0",
      messageId: "m1",
      timestamp: "2026-03-01T12:00:00Z",
      from: owner.agent.id,
      to: idle.agent.id,
      mode: "notify",
      payload: "hello",
      ...changes
    }
  }),
  ...expected
})

export const a2aRows: ReadonlyArray<ErrorRow> = [
  {
    when: "nobody is signed in",
    route,
    call: () => ({ path: "/api/a2a/agt_0/messages", json: {} }),
    status: 401,
    code: "unauthorized"
  },
  message("the mode is unknown", { mode: "shout" }, { status: 400, code: "invalid_request", fields: ["mode"] }),
  message("the version is unknown", { version: "2.0" }, { status: 400, code: "invalid_request", fields: ["version"] }),
  message("the sender is none of the caller's", { from: "agt_0" }, { status: 403, code: "a2a_sender_not_owned" }),
  message("the receiver does not allow the sender", {}, { status: 404, code: "agent_not_found" }),
  ...ofOneAgent("GET /api/agents/:id/a2a/allow"),
  ...ofOneAgent("PUT /api/agents/:id/a2a/allow", { json: { allow: [] } }),
  ...ofOneAgent("GET /api/agents/:id/a2a/skills"),
  ...ofOneAgent("PUT /api/agents/:id/a2a/skills", { json: { skills: [] } }),
  ...ofOneAgent("GET /api/agents/:id/a2a/messages"),
  ...ofOneAgent("GET /agents/:id/.well-known/agent-card.json").map((row) =>
    row.status === 401 ? { ...row, status: 404, code: "agent_not_found" } : row
  )
]
