import { PlanLimitReached } from "@berth/domain/agents/AgentErrors"
import type { AgentManager } from "@berth/domain/instances/AgentManager"
import { BackendUnavailable, InstanceUnavailable } from "@berth/domain/instances/InstanceErrors"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { type Context, Effect } from "effect"
import type { ErrorRow, ErrorRowFixturesService } from "../ErrorRow.ts"
import { withTableHidden } from "../OwnerFixtures.ts"

const deploy = (
  when: string,
  body: (scene: ErrorRowFixturesService) => unknown,
  status: number,
  code: string,
  more: Pick<ErrorRow, "during" | "fields" | "members"> = {}
): ErrorRow => ({
  when,
  route: "POST /api/deployments",
  call: (scene) => ({ as: scene.idle, json: body(scene) }),
  status,
  code,
  ...more
})

const agentId = ({ idle }: ErrorRowFixturesService) => idle.agent.id
const own = (scene: ErrorRowFixturesService) => ({ agentId: agentId(scene) })
const withConfig = (config: unknown) => (scene: ErrorRowFixturesService) => ({ ...own(scene), config })

type Activation = ReturnType<Context.Tag.Service<AgentManager>["activate"]>
const activating = (outcome: Activation): Pick<ErrorRow, "during"> => ({
  during: (effect) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) => withBehavior({ activate: () => outcome })(effect))
})

export const deploymentRows: ReadonlyArray<ErrorRow> = [
  {
    when: "nobody is signed in",
    route: "POST /api/deployments",
    call: (scene) => ({ json: own(scene) }),
    status: 401,
    code: "unauthorized"
  },
  deploy("no agent is named", () => ({}), 400, "invalid_request", { fields: ["agentId"] }),
  deploy("the types are wrong", () => ({ agentId: 1, config: 2 }), 400, "invalid_request", {
    fields: ["agentId", "config"]
  }),
  deploy("a member of the configuration is unknown", withConfig({ shade: "red" }), 400, "invalid_request", {
    fields: ["config.shade"]
  }),
  deploy("there is no such agent", () => ({ agentId: "agt_0" }), 404, "agent_not_found"),
  deploy("the agent is another's", ({ stranger }) => ({ agentId: stranger.agent.id }), 404, "agent_not_found"),
  deploy("the model is none of those allowed", withConfig({ model: "gpt-2" }), 400, "model_not_allowed"),
  deploy("a custom model is not named", withConfig({ model: "custom" }), 400, "custom_model_missing"),
  deploy("a skill is unknown", withConfig({ skills: ["dance"] }), 400, "skill_selection_invalid"),
  {
    when: "the plan does not have a skill",
    route: "POST /api/deployments",
    call: ({ full }) => ({ as: full, json: { agentId: full.agent.id, config: { skills: ["files"] } } }),
    status: 403,
    code: "plan_feature_required"
  },
  {
    when: "a running agent cannot be configured",
    route: "POST /api/deployments",
    call: ({ owner }) => ({ as: owner, json: { agentId: owner.agent.id, config: { temperature: 1 } } }),
    during: (effect) =>
      Effect.flatMap(AgentManagerTest, ({ withBehavior }) =>
        withBehavior({ reconfigure: () => new InstanceUnavailable({ reason: "it ended" }) })(effect)
      ),
    status: 500,
    code: "configuration_not_applied"
  },
  deploy("the plan's agents all run", own, 429, "plan_limit_reached", {
    ...activating(new PlanLimitReached({ current: 3, limit: 3 })),
    members: { current: 3, limit: 3 }
  }),
  deploy(
    "the instance ends during its start",
    own,
    502,
    "instance_unavailable",
    activating(new InstanceUnavailable({ reason: "it exited with status 1" }))
  ),
  deploy(
    "the backend does not answer",
    own,
    502,
    "backend_unavailable",
    activating(new BackendUnavailable({ reason: "it does not respond" }))
  ),
  deploy("the database fails", own, 500, "internal", { during: withTableHidden("agents") })
]
