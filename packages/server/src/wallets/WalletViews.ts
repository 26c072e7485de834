import { walletFeatures } from "@berth/api/wallets/UserWalletsApi"
import type { UserWallet } from "@berth/domain/wallets/UserWallet"
import { formatEther, walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Option } from "effect"

const network = walletNetwork.name
const noWallet = "You have no wallet. Create one by POST /api/wallet with action create."

export const describePlatform = (projectId: string) => ({
  agenticWallet: {
    status: "configured" as const,
    projectId: projectId.length > 8 ? `${projectId.slice(0, 8)}...` : projectId,
    features: walletFeatures
  },
  instructions: "Create a wallet by POST /api/wallet/create with an email address."
})

export const missingWallet = { address: null, balance: "0", network, hasWallet: false, message: noWallet }

export const describeWallet = ({ address, createdAt }: UserWallet, wei: Option.Option<bigint>) => ({
  address,
  balance: formatEther(Option.getOrElse(wei, () => 0n)),
  network,
  hasWallet: true,
  createdAt
})

export const describeOutage = (wei: Option.Option<bigint>): string =>
  Option.isSome(wei)
    ? "The chain is unreachable; the balance is the last known one"
    : "The chain is unreachable; no balance is known"

const withoutAddress = { authenticated: false, needsAuth: true } as const

export const describeAddress = Option.match({
  onNone: () => ({ ...withoutAddress, message: noWallet }),
  onSome: ({ address }: UserWallet) => ({ authenticated: true, address })
})

export const anonymousAddress = { ...withoutAddress, message: "Sign in to read your wallet's address." }

export const unavailableAddress = {
  ...withoutAddress,
  error: "The key of the wallet cannot be opened.",
  setup: "Add the key that sealed the wallet to SECRETS_KEYS."
}
