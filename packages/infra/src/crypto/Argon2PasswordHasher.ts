import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import * as Argon2 from "@node-rs/argon2"
import { Effect, Layer, Redacted } from "effect"
import { makeArgon2Threads } from "./Argon2Threads.ts"
import { makeConcurrencyLimit } from "./ConcurrencyLimit.ts"

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

/** argon2id in threads of low priority: `maxConcurrent` at once, `maxWaiting` queued, the rest fail. */
export const layer = (options: {
  readonly maxConcurrent: number
  readonly maxWaiting?: number
  /** Default: OWASP's parameters. */
  readonly parameters?: Argon2Parameters
}): Layer.Layer<PasswordHasher> =>
  Layer.scoped(
    PasswordHasher,
    Effect.gen(function* () {
      const limited = yield* makeConcurrencyLimit({
        maxConcurrent: options.maxConcurrent,
        maxWaiting: options.maxWaiting ?? defaultMaxWaiting
      })
      const perform = yield* makeArgon2Threads
      const parameters = options.parameters ?? owasp
      const verify = (password: Redacted.Redacted, hashed: string) =>
        Effect.map(
          limited(() => perform({ password: Redacted.value(password), hashed })),
          (isEqual) => isEqual === true
        )
      // On the thread pool, so that an idle server has no further thread.
      const dummyHash = yield* Effect.promise(() => Argon2.hash("dummy password", parameters))

      return PasswordHasher.of({
        hash: Effect.fn("PasswordHasher.hash")((password) =>
          Effect.map(
            limited(() => perform({ password: Redacted.value(password), parameters })),
            String
          )
        ),
        verify: Effect.fn("PasswordHasher.verify")(verify),
        verifyDummy: Effect.fn("PasswordHasher.verifyDummy")((password) =>
          Effect.as(verify(password, dummyHash), false as const)
        )
      })
    })
  )
