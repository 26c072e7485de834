import { VerificationChallenge } from "@berth/domain/verification/VerificationChallenge"
import { VerificationChallengeRepository } from "@berth/domain/verification/VerificationChallengeRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeFirstRow, execute } from "../Rows.ts"

const ChallengeRow = Schema.Struct({ ...VerificationChallenge.fields, expiresAt: Schema.DateTimeUtcFromDate })

export const layer: Layer.Layer<VerificationChallengeRepository, never, SqlClient> = Layer.effect(
  VerificationChallengeRepository,
  Effect.map(SqlClient, (sql) =>
    VerificationChallengeRepository.of({
      save: Effect.fn("VerificationChallengeRepository.save")(function* (challenge: VerificationChallenge) {
        const row = { ...challenge, expiresAt: DateTime.toDate(challenge.expiresAt) }
        yield* execute(sql`
          insert into verification_challenges ${sql.insert(row)}
          on conflict (agent_id, user_id, purpose)
          do update set nonce = excluded.nonce, expires_at = excluded.expires_at`)
      }),
      find: Effect.fn("VerificationChallengeRepository.find")(
        ({ agentId, purpose, userId }: Pick<VerificationChallenge, "agentId" | "userId" | "purpose">) =>
          sql`
            select * from verification_challenges
            where agent_id = ${agentId} and user_id = ${userId} and purpose = ${purpose}`.pipe(
            decodeFirstRow(ChallengeRow)
          )
      ),
      consume: Effect.fn("VerificationChallengeRepository.consume")(
        ({ agentId, nonce, purpose, userId }: VerificationChallenge) =>
          affectsRow(sql`
            delete from verification_challenges
            where agent_id = ${agentId} and user_id = ${userId} and purpose = ${purpose} and nonce = ${nonce}`)
      ),
      removeExpired: Effect.fn("VerificationChallengeRepository.removeExpired")((now: DateTime.Utc) =>
        countAffectedRows(sql`delete from verification_challenges where expires_at <= ${DateTime.toDate(now)}`)
      )
    })
  )
)
