import { Option, type Redacted } from "effect"
import type { Settings } from "../configuration/Settings.ts"
import * as PostgresJobQueue from "../queue/PostgresJobQueue.ts"
import * as RedisJobQueue from "../queue/RedisJobQueue.ts"

/** Redis queues if `REDIS_URL` is set, else PostgreSQL queues. */
export const fromSettings = (settings: Settings, databaseUrl: Redacted.Redacted) =>
  Option.match(settings.redisUrl, {
    onNone: () => PostgresJobQueue.layer({ url: databaseUrl, schema: "bullmq" }),
    onSome: (url) => RedisJobQueue.layer({ url, prefix: "berth" })
  })
