import { DateTime, Duration, Either, Option } from "effect"
import { chainIds } from "../../chain/Chain.ts"
import type { SiweMessage } from "./SiweMessage.ts"

/** Maximum age of a message. */
export const siweFreshness = Duration.minutes(10)
/** Tolerated clock skew of the wallet. */
export const siweClockSkew = Duration.seconds(30)

/** For the log only; never sent to the client. */
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
  /** None accepts any unused nonce. */
  readonly nonce: Option.Option<string>
}

const hasOrigin = (uri: string, { origin }: URL): boolean => {
  if (!URL.canParse(uri)) return false
  const url = new URL(uri)
  return url.origin === origin && url.username === "" && url.password === ""
}

/** Validates everything except the signature. */
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
  const fault = faults.find(([isFault]) => isFault)
  return fault === undefined ? Either.void : Either.left(fault[1])
}
