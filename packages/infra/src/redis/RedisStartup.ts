import { Data, Effect, Layer, Option, Redacted } from "effect"
import { Redis } from "ioredis"
import { readHostPort, waitUntilResponding } from "../net/StartupWait.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"

class RedisProbeFailed extends Data.TaggedError("RedisProbeFailed")<{ readonly reason: string }> {}

const probeTimeout = 3000

/** Connects once and waits for a reply. The reason is that of the connection instead of the queued command. */
const probe = (url: Redacted.Redacted) =>
  Effect.acquireUseRelease(
    Effect.sync(
      () =>
        new Redis(Redacted.value(url), { lazyConnect: true, connectTimeout: probeTimeout, retryStrategy: () => null })
    ),
    (redis) =>
      Effect.async<void, RedisProbeFailed>((resume) => {
        const fail = (cause: unknown) =>
          resume(new RedisProbeFailed({ reason: cause instanceof Error ? cause.message : String(cause) }))
        redis.on("error", fail)
        redis.connect().then(
          () => redis.ping().then(() => resume(Effect.void), fail),
          () => setImmediate(fail, "the connection was closed")
        )
      }),
    (redis) => Effect.sync(() => redis.disconnect())
  ).pipe(Effect.timeoutFail({ duration: probeTimeout, onTimeout: () => new RedisProbeFailed({ reason: "no reply" }) }))

const rejection = /WRONGPASS|NOAUTH|NOPERM|invalid password|without any password/i
const otherProtocol = /^Protocol error/
const otherDatabase = /DB index/i

const isPermanent = ({ reason }: RedisProbeFailed) =>
  [rejection, otherProtocol, otherDatabase].some((it) => it.test(reason))

const describeRejection = (reason: string, address: string) => {
  if (otherProtocol.test(reason)) return `REDIS_URL: ${address} does not speak the Redis protocol; set a Redis server`
  return otherDatabase.test(reason)
    ? `REDIS_URL: Redis at ${address} has no database of this number; correct the path of the URL`
    : `REDIS_URL: Redis at ${address} rejects the user or password; correct them`
}

/** Waits until Redis responds; fails at once for a rejected password. */
export const requireRedis = Effect.fn("RedisStartup.require")((url: Redacted.Redacted) => {
  const address = readHostPort(url, 6379)
  return waitUntilResponding(probe(url), {
    system: `Redis at ${address}`,
    describe: ({ reason }) => reason,
    isPermanent
  }).pipe(Effect.mapError(({ reason }) => new ProgramMisconfigured({ reason: describeRejection(reason, address) })))
})

/** Waits until Redis responds, if `REDIS_URL` is set. Programs provide it once to all users of Redis. */
export const layer = (redisUrl: Option.Option<Redacted.Redacted>) =>
  Option.match(redisUrl, { onNone: () => Layer.empty, onSome: (url) => Layer.effectDiscard(requireRedis(url)) })
