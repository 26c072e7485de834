import { WebAuthnCredential } from "@berth/domain/verification/WebAuthnCredential"
import { WebAuthnCredentialRepository } from "@berth/domain/verification/WebAuthnCredentialRepository"
import { DateTime, Effect, Schema } from "effect"
import { affectsRow, decodeFirstRow, execute, mapRows } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const CredentialRow = Schema.Struct({ ...WebAuthnCredential.fields, counter: Schema.NumberFromString })
const IdRow = Schema.Struct({ id: Schema.String })

export const layer = Repository.layer(WebAuthnCredentialRepository, (sql) => ({
  listIds: (ownerId, agentId) =>
    sql`
      select id from webauthn_credentials where agent_id = ${agentId} and owner_id = ${ownerId}
      order by created_at, id`.pipe(mapRows(IdRow, ({ id }) => id)),
  find: (ownerId, agentId, id) =>
    sql`
      select id, public_key, counter from webauthn_credentials
      where id = ${toStorableText(id)} and agent_id = ${agentId} and owner_id = ${ownerId}`.pipe(
      decodeFirstRow(CredentialRow)
    ),
  insert: (ownerId, agentId, credential) =>
    Effect.gen(function* () {
      const createdAt = DateTime.toDate(yield* DateTime.now)
      const { counter, id, publicKey } = credential
      return yield* affectsRow(sql`
        insert into webauthn_credentials (id, agent_id, owner_id, public_key, counter, created_at)
        values (${id}, ${agentId}, ${ownerId}, ${publicKey}, ${counter}, ${createdAt})
        on conflict (id) do nothing`)
    }),
  setCounter: ({ counter: stored, id }, counter) =>
    affectsRow(sql`update webauthn_credentials set counter = ${counter} where id = ${id} and counter = ${stored}`),
  removeAll: (ownerId, agentId) =>
    execute(sql`delete from webauthn_credentials where agent_id = ${agentId} and owner_id = ${ownerId}`)
}))
