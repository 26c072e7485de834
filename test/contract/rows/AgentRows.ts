import type { ErrorRow } from "../ErrorRow.ts"
import { withTableHidden } from "../OwnerFixtures.ts"

const provision = (
  when: string,
  json: unknown,
  status: number,
  code: string,
  more: Pick<ErrorRow, "during" | "fields" | "members"> = {}
): ErrorRow => ({
  when,
  route: "POST /api/agents/provision",
  call: ({ owner }) => ({ as: owner, json }),
  status,
  code,
  ...more
})

const config = (when: string, value: unknown, field: string) =>
  provision(when, { name: "a", config: value }, 400, "invalid_request", { fields: [field] })

export const agentRows: ReadonlyArray<ErrorRow> = [
  { when: "nobody is signed in", route: "GET /api/agents/provision", status: 401, code: "unauthorized" },
  {
    when: "the database fails",
    route: "GET /api/agents/provision",
    call: ({ owner }) => ({ as: owner }),
    during: withTableHidden("agents"),
    status: 500,
    code: "internal"
  },
  {
    when: "the database fails",
    route: "GET /api/agents",
    call: ({ owner }) => ({ as: owner }),
    during: withTableHidden("agents"),
    status: 500,
    code: "internal"
  },
  {
    when: "nobody is signed in",
    route: "POST /api/agents/provision",
    call: () => ({ json: { name: "a" } }),
    status: 401,
    code: "unauthorized"
  },
  provision("the name is missing", {}, 400, "invalid_request", { fields: ["name"] }),
  provision("the types are wrong", { name: 1, model: 2, config: 3, tier: 4 }, 400, "invalid_request", {
    fields: ["name", "model", "config", "tier"]
  }),
  provision("the name is blank", { name: "  " }, 400, "agent_name_invalid"),
  provision("the name has 201 characters", { name: "n".repeat(201) }, 400, "agent_name_invalid"),
  provision("the name has a control character", { name: "a\u0007" }, 400, "agent_name_invalid"),
  provision("the model is none of those allowed", { name: "a", model: "gpt-2" }, 400, "model_not_allowed", {
    members: { model: "gpt-2", allowed: ["claude-opus-4-6", "gpt-4", "custom"] }
  }),
  provision("a custom model is not named", { name: "a", model: "custom" }, 400, "custom_model_missing"),
  provision(
    "a custom model is no provider/model id",
    { name: "a", model: "custom", config: { customModel: "gpt" } },
    400,
    "custom_model_missing"
  ),
  provision("the tier is unknown", { name: "a", tier: "gold" }, 400, "invalid_request", { fields: ["tier"] }),
  config("the configuration has an unknown member", { shade: "red" }, "config.shade"),
  config("a channel is unknown", { channels: ["web", "pigeon"] }, "config.channels.1"),
  config("the temperature is too high", { temperature: 2.1 }, "config.temperature"),
  config("the tokens are no whole number", { maxTokens: 1.5 }, "config.maxTokens"),
  config("the time zone is none", { timezone: "Mars/Olympus" }, "config.timezone"),
  config("the heartbeat is no cron expression", { heartbeat: "often" }, "config.heartbeat"),
  config("the heartbeat names no time that will come", { heartbeat: "0 0 30 2 *" }, "config.heartbeat"),
  provision(
    "a skill is unknown",
    { name: "a", config: { skills: ["time", "dance"] } },
    400,
    "skill_selection_invalid",
    {
      members: { skills: ["dance"], known: ["time", "calculator", "files"] }
    }
  ),
  {
    when: "the plan does not have a skill",
    route: "POST /api/agents/provision",
    call: ({ full }) => ({ as: full, json: { name: "a", config: { skills: ["files"] } } }),
    status: 403,
    code: "plan_feature_required",
    members: { feature: "skill", id: "files" }
  },
  {
    when: "the plan does not have a channel",
    route: "POST /api/agents/provision",
    call: ({ full }) => ({ as: full, json: { name: "a", config: { channels: ["web", "platformB"] } } }),
    status: 403,
    code: "plan_feature_required",
    members: { feature: "channel", id: "platformB" }
  },
  {
    when: "there is no subscription and the feature would need a larger one",
    route: "POST /api/agents/provision",
    call: ({ newcomer }) => ({ as: newcomer, json: { name: "a", config: { skills: ["files"] } } }),
    status: 402,
    code: "subscription_required"
  },
  {
    when: "there is no subscription",
    route: "POST /api/agents/provision",
    call: ({ newcomer }) => ({ as: newcomer, json: { name: "a" } }),
    status: 402,
    code: "subscription_required"
  },
  {
    when: "the plan's agents are all there",
    route: "POST /api/agents/provision",
    call: ({ full }) => ({ as: full, json: { name: "a" } }),
    status: 429,
    code: "plan_limit_reached",
    members: { current: 1, limit: 1 }
  },
  {
    when: "a higher tier is hinted at",
    route: "POST /api/agents/provision",
    call: ({ full }) => ({ as: full, json: { name: "a", tier: "enterprise", limit: 50 } }),
    status: 429,
    code: "plan_limit_reached",
    members: { current: 1, limit: 1 }
  },
  provision("the database fails", { name: "a" }, 500, "internal", { during: withTableHidden("outbox") })
]
