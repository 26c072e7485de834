import { UserId } from "@berth/domain/shared/UserId"
import { Verification, VerificationId } from "@berth/domain/verification/Verification"
import { VerificationRepository } from "@berth/domain/verification/VerificationRepository"
import { DateTime, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const VerificationRow = Schema.Struct({ ...Verification.fields, verifiedAt: Schema.DateTimeUtcFromDate })
const DueRow = Schema.Struct({ id: VerificationId, ownerId: UserId })

export const layer = Repository.layer(VerificationRepository, (sql) => ({
  find: (ownerId, agentId) =>
    sql`
      select * from agent_verifications
      where agent_id = ${toStorableText(agentId)} and owner_id = ${toStorableText(ownerId)}`.pipe(
      decodeFirstRow(VerificationRow)
    ),
  findById: (id) =>
    sql`select * from agent_verifications where id = ${toStorableText(id)}`.pipe(decodeFirstRow(VerificationRow)),
  save: (verification, nextCheckAt) => {
    const { agentId, attestationUid, ensName, id, ownerId, type, verifiedAt, verifierAddress, walletAddress } =
      verification
    return affectsRow(sql`
      insert into agent_verifications (
        agent_id, owner_id, id, type, attestation_uid, verifier_address, wallet_address, ens_name, verified_at,
        next_check_at
      )
      select agents.id, agents.owner_id, ${id}, ${type}, ${attestationUid}, ${verifierAddress}, ${walletAddress},
        ${ensName}, ${DateTime.toDate(verifiedAt)}, ${DateTime.toDate(nextCheckAt)}
      from agents where id = ${agentId} and owner_id = ${ownerId}
      on conflict (agent_id) do update set
        owner_id = excluded.owner_id, id = excluded.id, type = excluded.type,
        attestation_uid = excluded.attestation_uid, verifier_address = excluded.verifier_address,
        wallet_address = excluded.wallet_address, ens_name = excluded.ens_name,
        verified_at = excluded.verified_at, next_check_at = excluded.next_check_at`)
  },
  remove: (ownerId, agentId) =>
    execute(sql`delete from agent_verifications where agent_id = ${agentId} and owner_id = ${ownerId}`),
  removeCurrent: (id) => affectsRow(sql`delete from agent_verifications where id = ${id}`),
  setAttestationUid: (id, uid) =>
    execute(sql`update agent_verifications set attestation_uid = ${uid} where id = ${id}`),
  claimDue: (now, nextCheckAt, limit) =>
    sql`
      update agent_verifications set next_check_at = ${DateTime.toDate(nextCheckAt)}
      where agent_id in (
        select agent_id from agent_verifications
        where next_check_at <= ${DateTime.toDate(now)} and type <> 'webauthn'
        order by next_check_at limit ${limit} for update skip locked
      )
      returning id, owner_id`.pipe(decodeRows(DueRow))
}))
