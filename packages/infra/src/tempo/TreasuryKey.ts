import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { Data, Either, Redacted } from "effect"
import { isHex, size } from "viem"
import { generatePrivateKey, publicKeyToAddress } from "viem/accounts"
import { createECDH } from "node:crypto"

class TreasuryKeyMalformed extends Data.TaggedError("TreasuryKeyMalformed")<{ readonly reason: string }> {}

/** Generates the key of a wallet: `0x` and 64 hex digits. It controls all received payments. */
export const generateTreasuryKey = (): Redacted.Redacted => Redacted.make(generatePrivateKey())

/** Uses OpenSSL's curve, since the JavaScript one takes a tenth of a second for its first key, at every start. */
const derivePublicKey = (privateKey: string) => {
  const curve = createECDH("secp256k1")
  curve.setPrivateKey(privateKey.slice("0x".length), "hex")
  return `0x${curve.getPublicKey("hex")}` as const
}

export const deriveTreasuryAddress = (key: Redacted.Redacted): Either.Either<WalletAddress, TreasuryKeyMalformed> => {
  // The message of the library may contain the key.
  const malformed = () => new TreasuryKeyMalformed({ reason: "must be a private key, 0x and 64 hex digits" })
  const text = Redacted.value(key)
  return isHex(text) && size(text) === 32
    ? Either.try({ try: () => WalletAddress.make(publicKeyToAddress(derivePublicKey(text))), catch: malformed })
    : Either.left(malformed())
}
