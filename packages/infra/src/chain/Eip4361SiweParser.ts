import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import type { SiweMessage } from "@berth/domain/signin/wallets/SiweMessage"
import { SiweMessageMalformed, SiweParser } from "@berth/domain/signin/wallets/SiweParser"
import { isEIP55Address, ParsedMessage } from "@signinwithethereum/siwe-parser"
import { DateTime, Either, Layer, Option } from "effect"

/** RFC 3339 allows `t` and `z`; `DateTime.make` does not. */
const requiredTime = (text: string): Option.Option<DateTime.Utc> => DateTime.make(text.toUpperCase())

/** None for a malformed time; an absent time is valid. */
const optionalTime = (text: string | undefined): Option.Option<Option.Option<DateTime.Utc>> =>
  text === undefined ? Option.some(Option.none()) : Option.map(requiredTime(text), Option.some)

const toMessage = (parsed: ParsedMessage): Option.Option<SiweMessage> => {
  // The parser only warns about a missing EIP-55 checksum.
  if (!isEIP55Address(parsed.address)) return Option.none()
  return Option.all({
    issuedAt: requiredTime(parsed.issuedAt),
    expiresAt: optionalTime(parsed.expirationTime),
    notBefore: optionalTime(parsed.notBefore)
  }).pipe(
    Option.map((times) => ({
      ...times,
      scheme: Option.fromNullable(parsed.scheme),
      domain: parsed.domain,
      address: WalletAddress.make(parsed.address),
      uri: parsed.uri,
      version: parsed.version,
      chainId: parsed.chainId,
      nonce: parsed.nonce
    }))
  )
}

/** Grammar of the reference implementation. */
export const layer = Layer.succeed(SiweParser, {
  parse: (text) =>
    Either.try({ try: () => new ParsedMessage(text), catch: () => new SiweMessageMalformed() }).pipe(
      Either.flatMap((parsed) => Either.fromOption(toMessage(parsed), () => new SiweMessageMalformed()))
    )
})
