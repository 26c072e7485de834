import { Option, Schema } from "effect"

/** Address on an EVM chain, in any letter case; compare by `normalizeWalletAddress`. */
export const WalletAddress = Schema.String.pipe(Schema.brand("WalletAddress")).annotations({
  identifier: "WalletAddress",
  description: "An Ethereum address, 0x and 40 hex digits"
})
export type WalletAddress = typeof WalletAddress.Type

const pattern = /^0x[0-9a-fA-F]{40}$/

export const isWalletAddress = (text: string): boolean => pattern.test(text)

export const parseWalletAddress = (text: string): Option.Option<WalletAddress> =>
  isWalletAddress(text) ? Option.some(WalletAddress.make(text)) : Option.none()

export const normalizeWalletAddress = (address: WalletAddress): string => address.toLowerCase()

/** Returns the first and last four digits, for display. */
export const shortenWalletAddress = (address: WalletAddress): string => `${address.slice(0, 6)}...${address.slice(-4)}`
