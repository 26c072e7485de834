import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { PrivateKeyInvalid } from "@berth/domain/wallets/UserWallet"
import { type WalletKey, WalletKeys } from "@berth/domain/wallets/WalletKeys"
import { Effect, Layer, Redacted } from "effect"
import type { Hex } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

/** Fails outside the range of the curve. */
export const toAccount = (privateKey: Redacted.Redacted) =>
  privateKeyToAccount(`0x${Redacted.value(privateKey).slice(2)}`)

const makeWalletKey = (key: Hex): WalletKey => {
  const privateKey = Redacted.make(key)
  return { address: WalletAddress.make(toAccount(privateKey).address), privateKey }
}

export const layer = Layer.succeed(
  WalletKeys,
  WalletKeys.of({
    generate: Effect.sync(() => makeWalletKey(generatePrivateKey())),
    parse: (privateKey) => {
      const digits = /^0x([0-9a-fA-F]{64})$/.exec(Redacted.value(privateKey))?.[1]
      return digits === undefined
        ? new PrivateKeyInvalid()
        : Effect.try({ try: () => makeWalletKey(`0x${digits.toLowerCase()}`), catch: () => new PrivateKeyInvalid() })
    }
  })
)
