import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { A2aAgentSettings } from "@berth/domain/a2a/A2aAgentSettings"
import { findSenderReason, makeA2aReply } from "@berth/domain/a2a/A2aMessage"
import { A2aMessages } from "@berth/domain/a2a/A2aMessages"
import { Principal } from "@berth/domain/sessions/Principal"
import { Effect, Layer } from "effect"
import { group } from "../http/ApiGroup.ts"

const messages = group(WebApi, "a2aMessages", (handlers) =>
  Effect.map(A2aMessages, ({ send }) =>
    handlers.handle("send", ({ path: { agentId }, payload }) =>
      Effect.gen(function* () {
        const { proof, user } = yield* Principal
        const sent = yield* send(user, agentId, payload, { byInstance: proof.by === "token" })
        const { messageId, mode } = payload
        if (mode === "notify" || sent.status === "waiting") return { messageId, status: "accepted" as const }
        return {
          messageId,
          status: sent.status,
          reply: makeA2aReply(sent),
          reason: findSenderReason(sent)
        }
      })
    )
  )
)

const ofAgent = group(WebApi, "agentA2a", (handlers) =>
  Effect.map(Effect.all([A2aMessages, A2aAgentSettings]), ([{ list }, settings]) =>
    handlers
      .handle("readAllow", () =>
        Effect.gen(function* () {
          const { allow } = yield* settings.read((yield* OwnedAgent).agent)
          return { allow }
        })
      )
      .handle("writeAllow", ({ payload: { allow } }) =>
        Effect.gen(function* () {
          return { allow: yield* settings.allow((yield* OwnedAgent).agent, allow) }
        })
      )
      .handle("readSkills", () =>
        Effect.gen(function* () {
          const { skills } = yield* settings.read((yield* OwnedAgent).agent)
          return { skills }
        })
      )
      .handle("writeSkills", ({ payload: { skills } }) =>
        Effect.gen(function* () {
          const { agent, user } = yield* OwnedAgent
          return { skills: yield* settings.offer(user, agent, skills) }
        })
      )
      .handle("messages", ({ urlParams: { limit, offset } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const { messages, total } = yield* list(agent, { limit, offset })
          const present = (message: (typeof messages)[number]) => {
            const isSent = message.envelope.from === agent.id
            return {
              ...message,
              direction: isSent ? ("outbound" as const) : ("inbound" as const),
              message: message.envelope,
              reason: isSent ? findSenderReason(message) : message.reason
            }
          }
          return { messages: messages.map(present), total, limit, offset }
        })
      )
  )
)

export const layer = Layer.merge(messages, ofAgent)
