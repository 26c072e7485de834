import { JobQueue, type QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import { Queue, Worker } from "bullmq"
import { Layer, Redacted } from "effect"
import { makeBullmqJobQueue } from "./BullmqJobQueue.ts"
import type { BullmqSettings } from "./BullmqStore.ts"

export interface RedisJobQueueOptions extends BullmqSettings {
  /** `redis://` or `rediss://`; the server must not evict keys (`maxmemory-policy noeviction`) and should keep an append-only file. */
  readonly url: Redacted.Redacted
  /** Prefix of every key, so that several installations can share a server. */
  readonly prefix: string
}

/** Jobs in Redis: a connection for each queue, and two more for each consumed one. */
export const layer = (options: RedisJobQueueOptions): Layer.Layer<JobQueue, QueueUnavailable> => {
  const { prefix } = options
  const connection = {
    url: Redacted.value(options.url),
    connectTimeout: 5000,
    retryStrategy: (times: number) => Math.min(times * 100, 2000),
    // A replica rejects writes: after a failover the address resolves to another server. 2 repeats the command there.
    reconnectOnError: (error: Error) => error.message.includes("READONLY") && 2,
    // Longer than the longest blocking command; else the end of a silent connection is found after minutes.
    socketTimeout: 30_000
  }
  return Layer.scoped(
    JobQueue,
    makeBullmqJobQueue(
      {
        // Calls fail while the store is down; a worker waits until it returns.
        queue: (name, settings) =>
          new Queue(name, { ...settings, prefix, connection: { ...connection, maxRetriesPerRequest: 2 } }),
        worker: (name, process, settings) =>
          new Worker(name, process, { ...settings, prefix, connection: { ...connection, maxRetriesPerRequest: null } })
      },
      options
    )
  )
}
