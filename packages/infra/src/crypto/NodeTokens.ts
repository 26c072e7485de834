import { Tokens } from "@berth/domain/secrets/Tokens"
import { Effect, Layer, Redacted } from "effect"
import { randomBytes } from "node:crypto"

const byteLength = 32

export const layer = Layer.succeed(
  Tokens,
  Tokens.of({ make: Effect.sync(() => Redacted.make(randomBytes(byteLength).toString("base64url"))) })
)
