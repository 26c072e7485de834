import { makeMissingFieldsError } from "@berth/api/http/RequestErrors"
import type { AgentId } from "@berth/domain/shared/AgentId"
import { AgentHealth } from "@berth/domain/interaction/health/AgentHealth"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, type Redacted } from "effect"

/** The credential actions of /api/agent. */
export const makeAgentCredentialActions = Effect.gen(function* () {
  const health = yield* AgentHealth
  const vault = yield* CredentialVault

  const list = Effect.fnUntraced(function* (ownerId: UserId, agentId: AgentId | undefined) {
    if (agentId !== undefined) yield* health.resolveAgent(ownerId, agentId)
    return { credentials: yield* vault.findConfigured(ownerId) }
  })

  const set = Effect.fnUntraced(function* (
    ownerId: UserId,
    agentId: AgentId | undefined,
    { key, value }: { readonly key: string | undefined; readonly value: Redacted.Redacted | undefined }
  ) {
    if (agentId !== undefined) yield* health.resolveAgent(ownerId, agentId)
    if (key === undefined || value === undefined)
      return yield* makeMissingFieldsError([
        ...(key === undefined ? ["key"] : []),
        ...(value === undefined ? ["value"] : [])
      ])
    return { success: true, key: yield* vault.set(ownerId, key, value), configured: true }
  })

  return { list, set }
})
