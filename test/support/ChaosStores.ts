import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import { Duration, Option, Redacted } from "effect"

/** Exit code of a worker that ran more jobs than a cap allows. */
export const capExceeded = 99
export const drain = Duration.seconds(5)

/** The stores of the chaos test of jobs. */
export const make = (databaseUrl: Redacted.Redacted, redisUrl: Option.Option<Redacted.Redacted>) => ({
  storage: PersistenceWiring.layer({
    databaseUrl,
    maxConnections: 5,
    applicationName: "chaos",
    keys: [{ id: "k1", key: Redacted.make(Buffer.alloc(32, 1)) }],
    adminEmails: [],
    verifiedEmailsOnly: false
  }),
  queue: Option.match(redisUrl, {
    onNone: () => PostgresJobQueue.layer({ url: databaseUrl, schema: "bullmq" }),
    onSome: (url) => RedisJobQueue.layer({ url, prefix: "chaos" })
  })
})
