import { Tokens } from "@berth/domain/secrets/Tokens"
import { Effect, Layer, Redacted } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"

const bytes = 32

const digest = (token: Redacted.Redacted) => createHash("sha256").update(Redacted.value(token)).digest()

/** Tokens from the system's random source. Comparison is over hashes, so it takes the same time for any two tokens. */
export const layer = Layer.succeed(
  Tokens,
  Tokens.of({
    make: Effect.sync(() => Redacted.make(randomBytes(bytes).toString("base64url"))),
    hash: (token) => digest(token).toString("hex"),
    equal: (a, b) => timingSafeEqual(digest(a), digest(b))
  })
)
