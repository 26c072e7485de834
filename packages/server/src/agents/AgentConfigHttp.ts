import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import type { Agent } from "@berth/domain/agents/Agent"
import { AgentConfiguration } from "@berth/domain/agents/AgentConfiguration"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addResponseHeaders } from "../http/ResponseHeaders.ts"
import { makeModelWarning, makeWarningHeaders } from "./ModelWarning.ts"

const configOf = ({ config, customModel, model }: Agent) => ({ model, customModel, ...config })

export const layer = group(WebApi, "agentConfig", (handlers) =>
  Effect.map(Effect.all([AgentConfiguration, makeModelWarning]), ([configuration, warnOfModel]) =>
    handlers
      .handle("read", () =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          yield* addResponseHeaders(makeWarningHeaders(yield* warnOfModel(agent)))
          return { config: configOf(agent), status: "ok" as const }
        })
      )
      .handle("change", ({ payload: { customModel, model, ...config } }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          const changed = yield* configuration.change(user, agent, { model, customModel, config })
          yield* addResponseHeaders(makeWarningHeaders(yield* warnOfModel(changed)))
          return { config: configOf(changed), status: "updated" as const }
        })
      )
  )
)
