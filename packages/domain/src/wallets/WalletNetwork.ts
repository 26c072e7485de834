import { WalletAddress } from "../chain/WalletAddress.ts"

/** Chain of the user wallets. */
export const walletNetwork = {
  name: "base-sepolia",
  /** EIP-155 id. */
  chainId: 84_532,
  /** Contract of USDC (FiatToken 2.2), and its EIP-712 domain. */
  usdc: { address: WalletAddress.make("0x036CbD53842c5426634e7929541eC2318f3dCF7e"), name: "USDC", version: "2" }
} as const

const weiPerEther = 10n ** 18n

/** Decimal ETH, without trailing zeros. */
export const formatEther = (wei: bigint): string => {
  const fraction = String(wei % weiPerEther)
    .padStart(18, "0")
    .replace(/0+$/, "")
  const whole = String(wei / weiPerEther)
  return fraction === "" ? whole : `${whole}.${fraction}`
}
