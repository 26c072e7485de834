import { JobQueue, type QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import { Queue, Worker } from "bullmq"
import { Layer, Redacted } from "effect"
import { makeBullmqJobQueue } from "./BullmqJobQueue.ts"
import type { BullmqSettings } from "./BullmqStore.ts"

interface RedisJobQueueOptions extends BullmqSettings {
  /**
   * `redis://` or `rediss://`. The server must not evict keys (`maxmemory-policy noeviction`) and should use an
   * append-only file.
   */
  readonly url: Redacted.Redacted
  /** Prefix of every key, so that installations can share a server. */
  readonly prefix: string
}

/** Jobs in Redis: one connection per queue, and two more per consumed queue. */
export const layer = (options: RedisJobQueueOptions): Layer.Layer<JobQueue, QueueUnavailable> => {
  const { prefix } = options
  const connection = {
    url: Redacted.value(options.url),
    connectTimeout: 5000,
    retryStrategy: (times: number) => Math.min(times * 100, 2000),
    // A replica rejects writes; after a failover the address resolves to another server. 2 repeats the command there.
    reconnectOnError: (error: Error) => error.message.includes("READONLY") && 2,
    // Longer than the longest blocking command; without it a silently lost connection is detected after minutes.
    socketTimeout: 30_000
  }
  return Layer.scoped(
    JobQueue,
    makeBullmqJobQueue(
      {
        // Calls fail while the store is unavailable; a worker waits until it is available.
        queue: (name, settings) =>
          new Queue(name, { ...settings, prefix, connection: { ...connection, maxRetriesPerRequest: 2 } }),
        worker: (name, process, settings) =>
          new Worker(name, process, { ...settings, prefix, connection: { ...connection, maxRetriesPerRequest: null } })
      },
      options
    )
  )
}
