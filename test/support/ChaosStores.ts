import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import { Duration, Option, type Redacted } from "effect"
import { testStorage } from "./TestStorage.ts"

/** Exit code of a worker that ran more jobs than a cap allows. */
export const capExceeded = 99
export const drain = Duration.seconds(5)

/** The stores of the chaos test of jobs. */
export const make = (databaseUrl: Redacted.Redacted, redisUrl: Option.Option<Redacted.Redacted>) => ({
  storage: testStorage(databaseUrl, { maxConnections: 5, applicationName: "chaos" }),
  queue: Option.match(redisUrl, {
    onNone: () => PostgresJobQueue.layer({ url: databaseUrl, schema: "bullmq" }),
    onSome: (url) => RedisJobQueue.layer({ url, prefix: "chaos" })
  })
})
