import type { ErrorRow } from "../ErrorRow.ts"
import { ofOneAgent } from "./AgentDetailRows.ts"

const change = (when: string, json: unknown, more: Pick<ErrorRow, "status" | "code" | "fields">): ErrorRow => ({
  when,
  route: "PUT /api/agents/:id/channels",
  call: ({ full }) => ({ as: full, path: `/api/agents/${full.agent.id}/channels`, json }),
  ...more
})
const wrong = (when: string, json: unknown, ...fields: ReadonlyArray<string>) =>
  change(when, json, { status: 400, code: "invalid_request", fields })

export const channelRows: ReadonlyArray<ErrorRow> = [
  ...ofOneAgent("GET /api/agents/:id/channels"),
  ...ofOneAgent("PUT /api/agents/:id/channels", {
    body: "{bad",
    headers: { "content-type": "application/json" }
  }).filter(({ status }) => status < 500),
  wrong("a platform is unknown", { platformD: { token: "t" } }, "platformD"),
  wrong("a member is unknown", { platformA: { token: "t", shade: "red" } }, "platformA.shade"),
  wrong("the types are wrong", { platformA: { token: 1, enabled: "yes" } }, "platformA.token", "platformA.enabled"),
  change(
    "a channel without a token is enabled",
    { platformA: { enabled: true } },
    {
      status: 400,
      code: "channel_not_connected"
    }
  ),
  change("the token is empty", { platformA: { token: " " } }, { status: 400, code: "credential_invalid" }),
  change(
    "the plan does not have the channel",
    { platformC: { token: "t" } },
    {
      status: 403,
      code: "plan_feature_required"
    }
  ),
  wrong(
    "a member of platformB is at platformA",
    { platformA: { token: "t", phoneNumberId: "1" } },
    "platformA.phoneNumberId"
  ),
  ...(["platformA", "platformB", "platformC"] as const).map((platform): ErrorRow => ({
    when: "the request shows no secret of a connected agent",
    route: `POST /api/webhooks/${platform}/:agentId`,
    call: ({ owner }) => ({ path: `/api/webhooks/${platform}/${owner.agent.id}`, json: { update_id: 1 } }),
    status: 401,
    code: "webhook_not_authentic"
  })),
  {
    when: "the verification of a webhook shows no verify token of a connected agent",
    route: "GET /api/webhooks/platformB/:agentId",
    call: ({ owner }) => ({ path: `/api/webhooks/platformB/${owner.agent.id}?hub.mode=subscribe&hub.verify_token=x` }),
    status: 401,
    code: "webhook_not_authentic"
  }
]
