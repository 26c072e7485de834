import { Tokens } from "@berth/domain/secrets/Tokens"
import { Effect, Layer, Redacted } from "effect"
import { randomFillSync } from "node:crypto"

const byteLength = 32

/** Random bytes for the next tokens, since a call of the generator takes longer than the rest of a token. */
const pool = Buffer.alloc(128 * byteLength)
let used = pool.length

const makeToken = () => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const end = used + byteLength
  const token = pool.toString("base64url", used, end)
  pool.fill(0, used, end)
  used = end
  return Redacted.make(token)
}

export const layer = Layer.succeed(Tokens, Tokens.of({ make: Effect.sync(makeToken) }))
