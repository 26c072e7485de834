import { VerificationChallenge } from "@berth/domain/verification/VerificationChallenge"
import { VerificationChallengeRepository } from "@berth/domain/verification/VerificationChallengeRepository"
import { DateTime, Effect, Schema } from "effect"
import { affectsRow, countAffectedRows, decodeFirstRow, execute } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const ChallengeRow = Schema.Struct({ ...VerificationChallenge.fields, expiresAt: Schema.DateTimeUtcFromDate })

export const layer = Repository.layer(VerificationChallengeRepository, (sql) => ({
  save: (challenge) =>
    Effect.gen(function* () {
      const row = { ...challenge, expiresAt: DateTime.toDate(challenge.expiresAt) }
      yield* execute(sql`
        insert into verification_challenges ${sql.insert(row)}
        on conflict (agent_id, user_id, purpose)
        do update set nonce = excluded.nonce, expires_at = excluded.expires_at`)
    }),
  find: ({ agentId, purpose, userId }) =>
    sql`
      select * from verification_challenges
      where agent_id = ${agentId} and user_id = ${userId} and purpose = ${purpose}`.pipe(decodeFirstRow(ChallengeRow)),
  consume: ({ agentId, nonce, purpose, userId }) =>
    affectsRow(sql`
      delete from verification_challenges
      where agent_id = ${agentId} and user_id = ${userId} and purpose = ${purpose} and nonce = ${nonce}`),
  removeExpired: (now) =>
    countAffectedRows(sql`delete from verification_challenges where expires_at <= ${DateTime.toDate(now)}`)
}))
