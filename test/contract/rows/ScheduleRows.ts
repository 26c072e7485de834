import type { ErrorRow } from "../ErrorRow.ts"
import { ofOneAgent } from "./AgentDetailRows.ts"

const daily = { cron: "0 9 * * *", prompt: "Good morning" }

const create = (
  when: string,
  json: Readonly<Record<string, unknown>>,
  expected: Pick<ErrorRow, "status" | "code" | "fields" | "members">
): ErrorRow => ({
  when,
  route: "POST /api/agents/:id/schedules",
  call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/schedules`, json }),
  ...expected
})
const invalid = { status: 400, code: "schedule_invalid" }

const ofNothing = (route: ErrorRow["route"], code: string, json?: unknown): ErrorRow => ({
  when: "the agent has nothing with that id",
  route,
  call: ({ owner }) => ({
    as: owner,
    path: (route.split(" ")[1] ?? "").replace(":id", owner.agent.id).replaceAll(/:\w+/g, "none"),
    ...(json === undefined ? {} : { json })
  }),
  status: 404,
  code
})

export const scheduleRows: ReadonlyArray<ErrorRow> = [
  ...ofOneAgent("GET /api/agents/:id/schedules"),
  ...ofOneAgent("POST /api/agents/:id/schedules", { json: daily }),
  ...ofOneAgent("PATCH /api/agents/:id/schedules/:scheduleId", { json: {} }),
  ...ofOneAgent("DELETE /api/agents/:id/schedules/:scheduleId"),
  ...ofOneAgent("GET /api/agents/:id/schedules/:scheduleId/runs"),
  ...ofOneAgent("POST /api/agents/:id/skills/:skillId/runs", { json: {} }),
  ...ofOneAgent("GET /api/agents/:id/skills/:skillId/runs/:runId"),
  ...ofOneAgent("GET /api/agents/:id/skills"),
  ...ofOneAgent("POST /api/agents/:id/skills", { json: {} }),
  ...ofOneAgent("DELETE /api/agents/:id/skills/:skillId"),
  ...ofOneAgent("POST /api/agents/:id/attachments"),
  ...ofOneAgent("GET /api/agents/:id/attachments/:attachmentId"),
  ofNothing("GET /api/agents/:id/attachments/:attachmentId", "attachment_not_found"),
  ...ofOneAgent("GET /api/agents/:id/memory/notes"),
  ...ofOneAgent("POST /api/agents/:id/memory/notes", { json: { text: "Likes tea." } }),
  ...ofOneAgent("DELETE /api/agents/:id/memory/notes/:noteId"),
  ...ofOneAgent("GET /api/agents/:id/memory/search"),
  ofNothing("DELETE /api/agents/:id/memory/notes/:noteId", "note_not_found"),
  ...["", "  ", "a".repeat(2_001)].map((text): ErrorRow => ({
    when: `the note has ${text.length} characters`,
    route: "POST /api/agents/:id/memory/notes",
    call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/memory/notes`, json: { text } }),
    status: 400,
    code: "invalid_request",
    fields: ["text"]
  })),
  {
    when: "there is no query",
    route: "GET /api/agents/:id/memory/search",
    call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/memory/search` }),
    status: 400,
    code: "invalid_request",
    fields: ["query"]
  },
  {
    when: "the file has no name",
    route: "POST /api/agents/:id/attachments",
    call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/attachments`, body: "a" }),
    status: 400,
    code: "invalid_request",
    fields: ["name"]
  },
  ...ofOneAgent("GET /api/agents/:id/mcp-servers"),
  ...ofOneAgent("PUT /api/agents/:id/mcp-servers", { json: { servers: [] } }),
  ...[
    { what: "a server has no address", server: { name: "notes", url: "notes" }, code: "mcp_servers_invalid" },
    {
      what: "the name is not allowed",
      server: { name: "My notes", url: "https://a.example/" },
      fields: ["servers.0.name"]
    },
    { what: "a member is unknown", server: { name: "a", url: "https://a.example/", x: 1 }, fields: ["servers.0.x"] }
  ].map(({ code = "invalid_request", fields, server, what }): ErrorRow => ({
    ...create(what, {}, { status: 400, code, ...(fields === undefined ? {} : { fields }) }),
    route: "PUT /api/agents/:id/mcp-servers",
    call: ({ owner }) => ({
      as: owner,
      path: `/api/agents/${owner.agent.id}/mcp-servers`,
      json: { servers: [server] }
    })
  })),
  {
    ...create("there is neither an archive nor files", {}, { status: 400, code: "skill_invalid" }),
    route: "POST /api/agents/:id/skills",
    call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/skills`, json: {} })
  },
  ofNothing("DELETE /api/agents/:id/skills/:skillId", "skill_not_found"),
  ...ofOneAgent("DELETE /api/agents/:id/skills/:skillId/runs/:runId"),
  create(
    "the types are wrong",
    { cron: 1, onMissed: "twice" },
    { status: 400, code: "invalid_request", fields: ["cron", "onMissed"] }
  ),
  create("the expression has another number of fields", { ...daily, cron: "* * *" }, invalid),
  create("the expression has no further time", { ...daily, cron: "0 0 30 2 *" }, invalid),
  create("the time zone is unknown", { ...daily, timezone: "Mars/Olympus" }, invalid),
  create("there is neither a prompt nor a skill", { cron: daily.cron }, invalid),
  create("there are both a prompt and a skill", { ...daily, skillId: "time" }, invalid),
  create("the prompt is empty", { ...daily, prompt: " " }, invalid),
  create("the skill is unknown", { cron: daily.cron, skillId: "nowhere" }, { status: 404, code: "skill_not_found" }),
  create("the skill is disabled", { cron: daily.cron, skillId: "time" }, { status: 400, code: "skill_disabled" }),
  ofNothing("PATCH /api/agents/:id/schedules/:scheduleId", "schedule_not_found", { enabled: false }),
  ofNothing("DELETE /api/agents/:id/schedules/:scheduleId", "schedule_not_found"),
  ofNothing("GET /api/agents/:id/schedules/:scheduleId/runs", "schedule_not_found"),
  ofNothing("POST /api/agents/:id/skills/:skillId/runs", "skill_not_found", {}),
  ofNothing("GET /api/agents/:id/skills/:skillId/runs/:runId", "agent_run_not_found"),
  ofNothing("DELETE /api/agents/:id/skills/:skillId/runs/:runId", "agent_run_not_found")
]
