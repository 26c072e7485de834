import { Context, type DateTime, type Effect, type Option } from "effect"
import type { VerificationChallenge } from "./VerificationChallenge.ts"

type ChallengeKey = Pick<VerificationChallenge, "agentId" | "userId" | "purpose">

export class VerificationChallengeRepository extends Context.Tag("@berth/VerificationChallengeRepository")<
  VerificationChallengeRepository,
  {
    /** Replaces the open challenge of the same key. */
    readonly save: (challenge: VerificationChallenge) => Effect.Effect<void>
    /** Includes expired challenges. */
    readonly find: (key: ChallengeKey) => Effect.Effect<Option.Option<VerificationChallenge>>
    /** False if the challenge is used or replaced. Joins the running transaction. */
    readonly consume: (challenge: VerificationChallenge) => Effect.Effect<boolean>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
