import { Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"

const digest = (text: string) => createHash("sha256").update(text).digest()

/**
 * Whether an `Authorization` header contains the runtime token. The comparison of digests is constant-time in content
 * and length.
 */
export const makeTokenCheck = (token: Redacted.Redacted) => {
  const expected = digest(Redacted.value(token))
  return (authorization: string | undefined): boolean => {
    const presented = /^Bearer (.+)$/i.exec(authorization ?? "")?.[1]
    return presented !== undefined && timingSafeEqual(digest(presented), expected)
  }
}
