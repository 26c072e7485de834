import { normalizeWalletAddress, type WalletAddress } from "@berth/domain/chain/WalletAddress"
import { WalletChain } from "@berth/domain/wallets/WalletChain"
import { Effect, Layer } from "effect"
import { getAddress } from "viem"
import { getBalance } from "viem/actions"
import type { ChainNode } from "./ChainNode.ts"

const toViem = (address: WalletAddress) => getAddress(normalizeWalletAddress(address))

export const layer = (node: ChainNode): Layer.Layer<WalletChain> =>
  Layer.succeed(
    WalletChain,
    WalletChain.of({
      readBalance: Effect.fn("WalletChain.readBalance")((address: WalletAddress) =>
        node.call(
          (client) => getBalance(client, { address: toViem(address) }),
          () => undefined
        )
      )
    })
  )
