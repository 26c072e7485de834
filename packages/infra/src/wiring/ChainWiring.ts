import { GatingSettings } from "@berth/domain/gating/TokenGate"
import { Effect, Layer, Redacted } from "effect"
import { makeChainNode } from "../chain/ChainNode.ts"
import * as Eip4361SiweParser from "../chain/Eip4361SiweParser.ts"
import * as ViemSmartWalletSignatures from "../chain/ViemSmartWalletSignatures.ts"
import * as ViemTokenBalances from "../chain/ViemTokenBalances.ts"
import type { Settings } from "../configuration/Settings.ts"

interface ChainOptions {
  readonly baseRpcUrl: Redacted.Redacted<URL>
  readonly ethereumRpcUrl: Redacted.Redacted<URL>
  readonly gatingToken: Settings["gatingToken"]
}

export const layer = ({ baseRpcUrl, ethereumRpcUrl, gatingToken }: ChainOptions) =>
  Layer.unwrapEffect(
    // Separate clients with separate call limits, so that neither exhausts the other.
    Effect.map(
      Effect.all([
        makeChainNode({ chain: "base", url: baseRpcUrl }),
        makeChainNode({ chain: "ethereum", url: ethereumRpcUrl }),
        makeChainNode({ chain: "base", url: baseRpcUrl })
      ]),
      ([base, ethereum, forBalances]) =>
        Layer.mergeAll(
          ViemSmartWalletSignatures.layer({ base, ethereum }),
          ViemTokenBalances.layer(forBalances),
          Eip4361SiweParser.layer,
          // Path and query of the URL may contain a key.
          Layer.succeed(GatingSettings, { token: gatingToken, rpcEndpoint: Redacted.value(baseRpcUrl).origin })
        )
    )
  )

export const fromSettings = ({ baseRpcUrl, ethereumRpcUrl, gatingToken }: Settings) =>
  layer({ baseRpcUrl, ethereumRpcUrl, gatingToken })
