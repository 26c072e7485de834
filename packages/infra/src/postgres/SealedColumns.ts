/** Location of values sealed by `SecretBox`, in SQL. */
export interface SealedColumn {
  /** Name in reports. */
  readonly name: string
  readonly table: string
  /** Unique, ordered text of a row. */
  readonly id: string
  /** The sealed value; null if absent. */
  readonly value: string
  readonly context: string
  /** Assignment of a new value; `%` is its placeholder. */
  readonly assignment: string
}

const ofColumn = (table: string, column: string, id: string): SealedColumn => ({
  name: `${table}.${column}`,
  table,
  id,
  value: column,
  context: `'${table}.${column}:' || ${id}`,
  assignment: `${column} = %`
})

/** All sealed columns of the database. A test compares the list with the schema. */
export const sealedColumns: ReadonlyArray<SealedColumn> = [
  ofColumn("credentials", "sealed", "user_id || ':' || key"),
  ofColumn("instances", "runtime_token_sealed", "owner_id"),
  ofColumn("instances", "gateway_token_sealed", "owner_id"),
  ofColumn("channel_connections", "secrets_sealed", "agent_id || ':' || platform"),
  ofColumn("webhook_endpoints", "secret_sealed", "id"),
  ofColumn("webhook_endpoints", "previous_secret_sealed", "id"),
  ofColumn("a2a_push_notifications", "secrets_sealed", "task_id || ':' || id"),
  ofColumn("mcp_servers", "headers_sealed", "agent_id || ':' || name"),
  ofColumn("user_wallets", "key_sealed", "user_id || ':' || kind || ':' || address"),
  ofColumn("idempotency_keys", "outcome_sealed", "id"),
  ofColumn("idempotency_keys", "response_sealed", "id"),
  {
    name: "outbox.payload.sealed",
    table: "outbox",
    id: "id",
    value: "payload ->> 'sealed'",
    context: "'mail ' || (payload ->> 'mailId')",
    assignment: "payload = jsonb_set(payload, '{sealed}', to_jsonb(%::text))"
  }
]
