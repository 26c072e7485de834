import type { ErrorRow } from "../ErrorRow.ts"

const gone = (route: ErrorRow["route"], successor: string): ErrorRow => ({
  when: "anybody asks",
  route,
  call: () => ({ path: (route.split(" ")[1] ?? "").replace(":id", "agt_0"), json: { name: "a" } }),
  status: 410,
  code: "deprecated",
  members: { successor }
})

export const deprecatedRows: ReadonlyArray<ErrorRow> = [
  gone("POST /api/agents", "POST /api/agents/provision"),
  gone("PUT /api/agents/:id", "PUT /api/agents/agt_0/config"),
  gone("DELETE /api/agents/:id", "DELETE /api/agents/provision/agt_0"),
  gone("POST /api/checkout", "GET /api/cardProcessor/checkout")
]
