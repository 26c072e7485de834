import { DateTime, Duration, Either, Option } from "effect"
import { chainIds } from "../../chain/Chain.ts"
import type { SiweMessage } from "./SiweMessage.ts"

/** How long after it was issued a message is taken. */
export const siweFreshness = Duration.minutes(10)
/** How far ahead of ours a wallet's clock may be. */
export const siweClockSkew = Duration.seconds(30)

/** What is wrong with a message that is well-formed. For our own log: a stranger is told nothing of it. */
export type SiweFault =
  | "other scheme"
  | "other domain"
  | "other uri"
  | "other version"
  | "other chain"
  | "other nonce"
  | "issued in the future"
  | "issued too long ago"
  | "expired"
  | "not yet valid"

export interface SiweExpectations {
  readonly appUrl: URL
  readonly now: DateTime.Utc
  /** None where any nonce will do that was not used before. */
  readonly nonce: Option.Option<string>
}

const hasOrigin = (uri: string, { origin }: URL): boolean => {
  if (!URL.canParse(uri)) return false
  const given = new URL(uri)
  return given.origin === origin && given.username === "" && given.password === ""
}

/** Whether a message was written for this service, here and now. Whoever signed it is another question. */
export const validateSiweMessage = (
  message: SiweMessage,
  { appUrl, nonce, now }: SiweExpectations
): Either.Either<void, SiweFault> => {
  const faults: ReadonlyArray<readonly [boolean, SiweFault]> = [
    [Option.exists(message.scheme, (scheme) => `${scheme}:` !== appUrl.protocol), "other scheme"],
    [message.domain !== appUrl.host, "other domain"],
    [!hasOrigin(message.uri, appUrl), "other uri"],
    [message.version !== "1", "other version"],
    [message.chainId !== chainIds.base, "other chain"],
    [Option.exists(nonce, (expected) => expected !== message.nonce), "other nonce"],
    [DateTime.greaterThan(message.issuedAt, DateTime.addDuration(now, siweClockSkew)), "issued in the future"],
    [DateTime.lessThan(message.issuedAt, DateTime.subtractDuration(now, siweFreshness)), "issued too long ago"],
    [Option.exists(message.expiresAt, DateTime.lessThanOrEqualTo(now)), "expired"],
    [Option.exists(message.notBefore, DateTime.greaterThan(now)), "not yet valid"]
  ]
  const found = faults.find(([isSo]) => isSo)
  return found === undefined ? Either.void : Either.left(found[1])
}
