import type { AgentId } from "@berth/domain/shared/AgentId"
import type { UserId } from "@berth/domain/shared/UserId"
import { WebAuthnCredential } from "@berth/domain/verification/WebAuthnCredential"
import { WebAuthnCredentialRepository } from "@berth/domain/verification/WebAuthnCredentialRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"

const CredentialRow = Schema.Struct({ ...WebAuthnCredential.fields, counter: Schema.NumberFromString })
const IdRow = Schema.Struct({ id: Schema.String })

export const layer: Layer.Layer<WebAuthnCredentialRepository, never, SqlClient> = Layer.effect(
  WebAuthnCredentialRepository,
  Effect.map(SqlClient, (sql) =>
    WebAuthnCredentialRepository.of({
      listIds: Effect.fn("WebAuthnCredentialRepository.listIds")((ownerId: UserId, agentId: AgentId) =>
        sql`
          select id from webauthn_credentials where agent_id = ${agentId} and owner_id = ${ownerId}
          order by created_at, id`.pipe(
          decodeRows(IdRow),
          Effect.map((rows) => rows.map(({ id }) => id))
        )
      ),
      find: Effect.fn("WebAuthnCredentialRepository.find")((ownerId: UserId, agentId: AgentId, id: string) =>
        sql`
          select id, public_key, counter from webauthn_credentials
          where id = ${toStorableText(id)} and agent_id = ${agentId} and owner_id = ${ownerId}`.pipe(
          decodeFirstRow(CredentialRow)
        )
      ),
      insert: Effect.fn("WebAuthnCredentialRepository.insert")(function* (
        ownerId: UserId,
        agentId: AgentId,
        credential: WebAuthnCredential
      ) {
        const createdAt = DateTime.toDate(yield* DateTime.now)
        const { counter, id, publicKey } = credential
        return yield* affectsRow(sql`
            insert into webauthn_credentials (id, agent_id, owner_id, public_key, counter, created_at)
            values (${id}, ${agentId}, ${ownerId}, ${publicKey}, ${counter}, ${createdAt})
            on conflict (id) do nothing`)
      }),
      setCounter: Effect.fn("WebAuthnCredentialRepository.setCounter")(
        ({ counter: stored, id }: WebAuthnCredential, counter: number) =>
          affectsRow(sql`update webauthn_credentials set counter = ${counter} where id = ${id} and counter = ${stored}`)
      ),
      removeAll: Effect.fn("WebAuthnCredentialRepository.removeAll")((ownerId: UserId, agentId: AgentId) =>
        execute(sql`delete from webauthn_credentials where agent_id = ${agentId} and owner_id = ${ownerId}`)
      )
    })
  )
)
