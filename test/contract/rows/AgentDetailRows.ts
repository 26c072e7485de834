import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { Effect } from "effect"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import type { AppCall } from "../../support/TestApp.ts"
import type { CallCondition, ErrorRow } from "../ErrorRow.ts"
import { withTableHidden } from "../OwnerFixtures.ts"

export const ofOneAgent = (route: ErrorRow["route"], more: Partial<AppCall> = {}): ReadonlyArray<ErrorRow> => {
  const at = (id: string) => (route.split(" ")[1] ?? "").replace(":id", id)
  return [
    { when: "nobody is signed in", route, call: () => more, status: 401, code: "unauthorized" },
    {
      when: "there is no such agent",
      route,
      call: ({ owner }) => ({ ...more, as: owner, path: at("agt_0") }),
      status: 404,
      code: "agent_not_found"
    },
    {
      when: "the agent is another's",
      route,
      call: ({ owner, stranger }) => ({ ...more, as: owner, path: at(stranger.agent.id) }),
      status: 404,
      code: "agent_not_found"
    },
    {
      when: "the database fails",
      route,
      call: ({ owner }) => ({ ...more, as: owner, path: at(owner.agent.id) }),
      during: withTableHidden("agents"),
      status: 500,
      code: "internal"
    }
  ]
}

const change = (
  when: string,
  json: unknown,
  status: number,
  code: string,
  more: Pick<ErrorRow, "during" | "fields" | "members"> = {}
): ErrorRow => ({
  when,
  route: "PUT /api/agents/:id/config",
  call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/config`, json }),
  status,
  code,
  ...more
})

const wrong = (when: string, json: unknown, ...fields: ReadonlyArray<string>) =>
  change(when, json, 400, "invalid_request", { fields })

const reconfiguring =
  (outcome: Effect.Effect<never, BackendUnavailable | InstanceUnavailable>): CallCondition =>
  (effect) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) => withBehavior({ reconfigure: () => outcome })(effect))

const page = (query: string, field: string, of: "messages" | "logs" = "messages"): ErrorRow => ({
  when: `the page is asked for by ${query}`,
  route: `GET /api/agents/:id/${of}`,
  call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/${of}?${query}` }),
  status: 400,
  code: "invalid_request",
  fields: [field]
})

export const agentDetailRows: ReadonlyArray<ErrorRow> = [
  ...ofOneAgent("GET /api/agents/:id"),
  ...ofOneAgent("GET /api/agents/:id/config"),
  ...ofOneAgent("PUT /api/agents/:id/config", { body: "{bad", headers: { "content-type": "application/json" } }).filter(
    ({ status }) => status < 500
  ),
  wrong("a member is unknown", { shade: "red", size: 1 }, "shade", "size"),
  wrong("the types are wrong", { model: 1, channels: "web", skills: [1] }, "model", "channels", "skills.0"),
  wrong("the figures are out of range", { temperature: -0.1, maxTokens: 0 }, "temperature", "maxTokens"),
  wrong("a member is null that has no null", { timezone: null, channels: null }, "timezone", "channels"),
  change("the model is none of those allowed", { model: "gpt-2" }, 400, "model_not_allowed"),
  change("a custom model is not named", { model: "custom" }, 400, "custom_model_missing"),
  change("a skill is unknown", { skills: ["dance", "time", "sing"] }, 400, "skill_selection_invalid", {
    members: { skills: ["dance", "sing"], known: ["time", "calculator", "files"] }
  }),
  {
    when: "the plan does not have a channel",
    route: "PUT /api/agents/:id/config",
    call: ({ full }) => ({
      as: full,
      path: `/api/agents/${full.agent.id}/config`,
      json: { channels: ["web", "platformA", "platformC"] }
    }),
    status: 403,
    code: "plan_feature_required",
    members: { feature: "channel", id: "platformC", plans: ["label", "network", "pro", "scale", "enterprise"] }
  },
  {
    when: "the plan does not have a skill",
    route: "PUT /api/agents/:id/config",
    call: ({ full }) => ({ as: full, path: `/api/agents/${full.agent.id}/config`, json: { skills: ["files"] } }),
    status: 403,
    code: "plan_feature_required",
    members: { feature: "skill", id: "files" }
  },
  change("the agent cannot be told", { temperature: 1 }, 500, "configuration_not_applied", {
    during: reconfiguring(new InstanceUnavailable({ reason: "it ended" }))
  }),
  change("the backend is gone", { temperature: 1 }, 500, "configuration_not_applied", {
    during: reconfiguring(new BackendUnavailable({ reason: "it does not respond" }))
  }),
  ...ofOneAgent("GET /api/agents/:id/messages"),
  page("limit=many", "limit"),
  page("limit=", "limit"),
  ...["Infinity", "0x10", "1e2", "5.5", "%205", "%2B5"].map((number) => page(`limit=${number}`, "limit")),
  page("offset=first", "offset"),
  ...ofOneAgent("GET /api/agents/:id/logs"),
  page("limit=many", "limit", "logs"),
  page("level=loud", "level", "logs"),
  page("level=", "level", "logs"),
  {
    when: "the backend is gone",
    route: "GET /api/agents/:id/logs",
    call: ({ owner }) => ({ as: owner, path: `/api/agents/${owner.agent.id}/logs` }),
    during: (effect) =>
      Effect.flatMap(AgentManagerTest, ({ withBehavior }) =>
        withBehavior({ logs: () => new BackendUnavailable({ reason: "it does not respond" }) })(effect)
      ),
    status: 500,
    code: "logs_unavailable"
  },
  ...ofOneAgent("GET /api/agents/:id/stats"),
  ...ofOneAgent("DELETE /api/agents/provision/:id")
]
