import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import { hash, verify } from "@node-rs/argon2"
import { Duration, Effect, Layer, Metric, Redacted, Ref } from "effect"
import { DependencyUnavailable } from "@berth/domain/shared/DependencyUnavailable"

const waiting = Metric.gauge("berth_password_hashes_waiting", { description: "Password hashes in work or in line" })

interface ConcurrencyLimits {
  readonly maxConcurrent: number
  /** Maximum waiting calls; a further call fails with `DependencyUnavailable`. */
  readonly maxWaiting: number
}

const retryAfter = Duration.seconds(2)

/**
 * Limits concurrent promises, which cannot be canceled. An interrupted caller leaves the queue; if it is interrupted
 * during the work, its permit is returned when the promise settles.
 */
export const makeConcurrencyLimit = ({ maxConcurrent, maxWaiting }: ConcurrencyLimits) =>
  Effect.map(Effect.all([Effect.makeSemaphore(maxConcurrent), Ref.make(0)]), ([turns, inHand]) => {
    const enter = Effect.zipRight(
      Effect.filterOrDie(
        Ref.modify(inHand, (held) => (held < maxConcurrent + maxWaiting ? [true, held + 1] : [false, held])),
        (entered) => entered,
        () => new DependencyUnavailable({ dependency: "the hashing of passwords", retryAfter })
      ),
      Metric.incrementBy(waiting, 1)
    )
    const leave = Effect.zipRight(
      Ref.update(inHand, (held) => held - 1),
      Metric.incrementBy(waiting, -1)
    )
    return <A>(work: () => Promise<A>): Effect.Effect<A> =>
      Effect.acquireUseRelease(
        enter,
        () => turns.withPermits(1)(Effect.uninterruptible(Effect.promise(work))),
        () => leave
      )
  })

interface Argon2Parameters {
  /** In KiB. */
  readonly memoryCost: number
  readonly timeCost: number
  readonly parallelism: number
}

/** OWASP parameters of argon2id, the library's default algorithm: 19 MiB, two passes, one lane. */
const owasp: Argon2Parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Equals a few seconds of work. */
const defaultMaxWaiting = 64

/** argon2id on the thread pool: `maxConcurrent` at once, `maxWaiting` queued, the rest fail. */
export const layer = (options: {
  readonly maxConcurrent: number
  readonly maxWaiting?: number
  /** Default: OWASP's parameters. */
  readonly parameters?: Argon2Parameters
}): Layer.Layer<PasswordHasher> =>
  Layer.effect(
    PasswordHasher,
    Effect.gen(function* () {
      const limited = yield* makeConcurrencyLimit({
        maxConcurrent: options.maxConcurrent,
        maxWaiting: options.maxWaiting ?? defaultMaxWaiting
      })
      const parameters = options.parameters ?? owasp
      const dummyHash = yield* limited(() => hash("dummy password", parameters))

      return PasswordHasher.of({
        hash: Effect.fn("PasswordHasher.hash")((password) => limited(() => hash(Redacted.value(password), parameters))),
        verify: Effect.fn("PasswordHasher.verify")((password, hashed) =>
          limited(() => verify(hashed, Redacted.value(password)))
        ),
        verifyDummy: Effect.fn("PasswordHasher.verifyDummy")((password) =>
          Effect.as(
            limited(() => verify(dummyHash, Redacted.value(password))),
            false as const
          )
        )
      })
    })
  )
