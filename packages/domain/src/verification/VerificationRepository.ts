import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { Verification, VerificationId } from "./Verification.ts"

export class VerificationRepository extends Context.Tag("@berth/VerificationRepository")<
  VerificationRepository,
  {
    readonly find: (ownerId: UserId, agentId: AgentId) => Effect.Effect<Option.Option<Verification>>
    readonly findById: (id: VerificationId) => Effect.Effect<Option.Option<Verification>>
    /** Replaces the agent's verification; false if the agent no longer belongs to the owner. */
    readonly save: (verification: Verification, nextCheckAt: DateTime.Utc) => Effect.Effect<boolean>
    /** Idempotent. */
    readonly remove: (ownerId: UserId, agentId: AgentId) => Effect.Effect<void>
    /** Compare-and-set: false if the verification was removed or replaced. Joins the running transaction. */
    readonly removeCurrent: (id: VerificationId) => Effect.Effect<boolean>
    /** Sets the UID of an attestation that was issued again. */
    readonly setAttestationUid: (id: VerificationId, uid: string) => Effect.Effect<void>
    /**
     * Claims up to `limit` due on-chain verifications and postpones their next check, the longest overdue first.
     * Concurrent claims are disjoint.
     */
    readonly claimDue: (
      now: DateTime.Utc,
      nextCheckAt: DateTime.Utc,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Pick<Verification, "id" | "ownerId">>>
  }
>() {}
