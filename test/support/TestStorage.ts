import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import { Redacted } from "effect"

export const testKeys = [{ id: "test", key: Redacted.make(Buffer.alloc(32, 7)) }] as const

/** All stores on a database, which they migrate. */
export const testStorage = (
  databaseUrl: Redacted.Redacted,
  options: Partial<Parameters<typeof PersistenceWiring.layer>[0]> = {}
) =>
  PersistenceWiring.layer({
    maxConnections: 10,
    applicationName: "test",
    keys: testKeys,
    adminEmails: [],
    verifiedEmailsOnly: false,
    ...options,
    databaseUrl
  })
