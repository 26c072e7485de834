import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import { hash, verify } from "@node-rs/argon2"
import { Effect, Layer, Redacted } from "effect"
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
