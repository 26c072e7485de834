import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import { hash, verify } from "@node-rs/argon2"
import { Effect, Layer, Redacted } from "effect"
import { makeConcurrencyLimit } from "./ConcurrencyLimit.ts"

/** OWASP's for argon2id, which is the library's default algorithm: 19 MiB, two passes, one lane. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Hashes that may wait when nothing else is said: a few seconds of work. */
const defaultMaxWaiting = 64

/** argon2id on the thread pool, `maxConcurrent` at once; so many more wait in line, and the rest are refused. */
export const layer = (options: {
  readonly maxConcurrent: number
  readonly maxWaiting?: number
}): Layer.Layer<PasswordHasher> =>
  Layer.effect(
    PasswordHasher,
    Effect.gen(function* () {
      const inTurn = yield* makeConcurrencyLimit({
        maxConcurrent: options.maxConcurrent,
        maxWaiting: options.maxWaiting ?? defaultMaxWaiting
      })
      // What nobody's password can be compared with; it only has to take as long.
      const nobody = yield* inTurn(() => hash("nobody's password", parameters))

      return PasswordHasher.of({
        hash: Effect.fn("PasswordHasher.hash")((password) => inTurn(() => hash(Redacted.value(password), parameters))),
        verify: Effect.fn("PasswordHasher.verify")((password, hashed) =>
          inTurn(() => verify(hashed, Redacted.value(password)))
        ),
        verifyDummy: Effect.fn("PasswordHasher.verifyDummy")((password) =>
          Effect.as(
            inTurn(() => verify(nobody, Redacted.value(password))),
            false as const
          )
        )
      })
    })
  )
