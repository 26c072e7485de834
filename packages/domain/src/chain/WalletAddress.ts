import { Option, Schema } from "effect"

/** An account on an EVM chain, `0x` and 40 hex digits in any case. Compared by `walletKey`. */
export const WalletAddress = Schema.String.pipe(Schema.brand("WalletAddress")).annotations({
  identifier: "WalletAddress",
  description: "An Ethereum address, 0x and 40 hex digits"
})
export type WalletAddress = typeof WalletAddress.Type

const pattern = /^0x[0-9a-fA-F]{40}$/

export const isWalletAddress = (text: string): boolean => pattern.test(text)

export const parseWalletAddress = (text: string): Option.Option<WalletAddress> =>
  isWalletAddress(text) ? Option.some(WalletAddress.make(text)) : Option.none()

/** Two addresses with the same key are the same account. */
export const normalizeWalletAddress = (address: WalletAddress): string => address.toLowerCase()

/** For people: the first four and the last four digits. */
export const shortenWalletAddress = (address: WalletAddress): string => `${address.slice(0, 6)}...${address.slice(-4)}`
