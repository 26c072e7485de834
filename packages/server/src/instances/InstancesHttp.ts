import { formatPair, formatPercent } from "@berth/api/instances/FigureFormat"
import { InstanceOwner } from "@berth/api/instances/InstancesApi"
import { WebApi } from "@berth/api/WebApi"
import { describeModelReplacements } from "@berth/domain/agents/LegacyModels"
import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { Instances } from "@berth/domain/instances/Instances"
import { ConversationRemoval } from "@berth/domain/instances/ConversationRemoval"
import { Effect, Option, Redacted } from "effect"
import { group } from "../http/ApiGroup.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { makeInstanceUrl } from "../agents/AgentUrls.ts"

export const layer = group(WebApi, "instances", (handlers) =>
  Effect.gen(function* () {
    const instances = yield* Instances
    const allowances = yield* Allowances
    const conversations = yield* ConversationRemoval
    const { agentsDomain, appUrl } = yield* WebSettings

    return handlers
      .handle("find", () =>
        Effect.gen(function* () {
          const user = yield* InstanceOwner
          const { runtimeVersion, startedAt, status, subdomain } = yield* instances.find(user.id)
          return {
            userId: user.id,
            status,
            startedAt,
            subdomain,
            url: makeInstanceUrl(subdomain, agentsDomain, appUrl),
            plan: user.plan,
            runtimeVersion
          }
        })
      )
      .handle("token", () =>
        Effect.gen(function* () {
          const user = yield* InstanceOwner
          return { token: Redacted.value(yield* instances.ensureGatewayToken(user.id)) }
        })
      )
      .handle("stats", () =>
        Effect.gen(function* () {
          const { id, plan } = yield* InstanceOwner
          const { runtimeVersion, status } = yield* instances.find(id)
          const figures = Option.getOrNull(yield* instances.stats(id))
          const cpu = formatPercent(figures?.cpuPercent ?? null)
          const memory = formatPair(figures?.memoryBytes ?? null, figures?.memoryLimitBytes ?? null)
          return { userId: id, cpu, memory, status, plan, runtimeVersion }
        })
      )
      .handle("storage", () =>
        Effect.gen(function* () {
          const user = yield* InstanceOwner
          yield* instances.find(user.id)
          const { storageMb } = yield* allowances.find(user)
          const usedBytes = Option.getOrNull(yield* instances.measureStorage(user.id))
          return { usedBytes, limitBytes: storageMb * 1024 * 1024 }
        })
      )
      .handle("start", () =>
        Effect.flatMap(InstanceOwner, ({ id }) =>
          Effect.as(instances.start(id), { success: true, status: "active" as const })
        )
      )
      .handle("stop", () =>
        Effect.flatMap(InstanceOwner, ({ id }) =>
          Effect.as(instances.stop(id), { success: true, status: "stopped" as const })
        )
      )
      .handle("restart", () =>
        Effect.flatMap(InstanceOwner, ({ id }) =>
          Effect.map(instances.restart(id), ({ healings, runtimeVersion }) => ({
            success: true,
            status: "active" as const,
            healedLegacyModel: healings.length > 0,
            healMessage: describeModelReplacements(healings),
            runtimeVersion
          }))
        )
      )
      .handle("update", () =>
        Effect.flatMap(InstanceOwner, ({ id }) =>
          Effect.as(instances.update(id), { success: true, status: "running" as const })
        )
      )
      .handle("repair", () =>
        Effect.flatMap(InstanceOwner, ({ id }) =>
          Effect.as(instances.repair(id), {
            success: true,
            message: "The instance was rebuilt and runs again; its agents and conversations are as they were."
          })
        )
      )
      .handle("resetMemory", () =>
        Effect.gen(function* () {
          const { id } = yield* InstanceOwner
          yield* instances.find(id)
          const forgotten = yield* conversations.removeAll(id)
          return {
            success: true,
            message: forgotten === 1 ? "1 conversation was forgotten." : `${forgotten} conversations were forgotten.`
          }
        })
      )
  })
)
