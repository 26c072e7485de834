import { Context, type DateTime, type Effect, type Option, Schema } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** The proof by which an owner verifies an agent. */
export const VerificationType = Schema.Literal("eas", "coinbase", "ens", "webauthn")
export type VerificationType = typeof VerificationType.Type

interface AgentVerification {
  readonly type: VerificationType
  readonly attestationUid: string | null
  readonly verifiedAt: DateTime.Utc
}

/** The operations on verifications that agents require. */
export class AgentVerifications extends Context.Tag("@berth/AgentVerifications")<
  AgentVerifications,
  {
    /** None if this owner has not verified the agent. */
    readonly find: (ownerId: UserId, agentId: AgentId) => Effect.Effect<Option.Option<AgentVerification>>
  }
>() {}
