import { ProvisionedAgentAnswer } from "@berth/api/agents/AgentsApi"
import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { OptionalUser } from "@berth/api/sessions/SessionAuth"
import { WebApi } from "@berth/api/WebApi"
import type { Agent } from "@berth/domain/agents/Agent"
import { Agents } from "@berth/domain/agents/Agents"
import { AgentVerifications } from "@berth/domain/agents/AgentVerifications"
import { AgentInstances } from "@berth/domain/agents/AgentInstances"
import { Principal } from "@berth/domain/sessions/Principal"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeAgentWebSocketUrl, makeInstanceUrl } from "./AgentUrls.ts"
import { makeModelWarning, makeWarningHeaders } from "./ModelWarning.ts"

const unverified = { verified: false, verificationType: null, attestationUid: null, verifiedAt: null }

const encodeProvisioned = Schema.encodeSync(ProvisionedAgentAnswer)

export const layer = group(WebApi, "agents", (handlers) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const instances = yield* AgentInstances
    const verifications = yield* AgentVerifications
    const { agentsDomain, appUrl } = yield* WebSettings
    const warnOfModel = yield* makeModelWarning

    const listItem = ({ createdAt, id, model, name, status, updatedAt }: Agent) => ({
      id,
      name,
      model,
      status,
      websocketUrl: makeAgentWebSocketUrl(id, appUrl),
      createdAt,
      updatedAt
    })

    return handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const user = yield* OptionalUser
          const own = Option.isSome(user) ? yield* agents.list(user.value.id) : []
          return { agents: own.map(listItem), count: own.length, status: "ok" as const }
        })
      )
      .handle("provision", ({ payload: { config, model, name } }) =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          const { customModel, model: configured, ...settings } = config ?? {}
          const agent = yield* agents.provision(user, {
            name,
            model: model ?? configured,
            customModel,
            config: settings
          })
          const { updatedAt: _, ...created } = listItem(agent)
          // Repetitions receive the headers of the response itself, but not headers added later.
          return HttpServerResponse.unsafeJson(encodeProvisioned({ success: true, agent: created }), {
            status: 201,
            headers: makeWarningHeaders(yield* warnOfModel(agent))
          })
        })
      )
      .handle("provisioned", () =>
        Effect.gen(function* () {
          const { user } = yield* Principal
          const own = yield* agents.list(user.id)
          return { success: true, agents: own.map(listItem), count: own.length }
        })
      )
      .handle("detail", () =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          const { runtimeVersion, startedAt, subdomain } = yield* instances.describe(user.id)
          return {
            agent: {
              id: agent.id,
              status: agent.status,
              startedAt,
              plan: user.plan,
              subdomain,
              url: makeInstanceUrl(subdomain, agentsDomain, appUrl),
              runtimeVersion,
              ...Option.match(yield* verifications.find(user.id, agent.id), {
                onNone: () => unverified,
                onSome: ({ attestationUid, type, verifiedAt }) => ({
                  verified: true,
                  verificationType: type,
                  attestationUid,
                  verifiedAt
                })
              })
            },
            status: "ok" as const
          }
        })
      )
  })
)
