import { GatingSettings } from "@berth/domain/gating/GatingToken"
import { Effect, Layer, Redacted } from "effect"
import { makeChainNode } from "../chain/ChainNode.ts"
import * as Eip4361SiweParser from "../chain/Eip4361SiweParser.ts"
import * as ViemSmartWalletSignatures from "../chain/ViemSmartWalletSignatures.ts"
import * as ViemTokenBalances from "../chain/ViemTokenBalances.ts"
import type { Settings } from "../configuration/Settings.ts"

export interface ChainOptions {
  readonly baseRpcUrl: Redacted.Redacted<URL>
  readonly gatingToken: Settings["gatingToken"]
}

const node = (url: ChainOptions["baseRpcUrl"]) => makeChainNode({ chain: "base", url })

export const layer = ({ baseRpcUrl, gatingToken }: ChainOptions) =>
  Layer.unwrapEffect(
    // One client each: their call limits are separate, so that neither exhausts the other.
    Effect.map(Effect.all([node(baseRpcUrl), node(baseRpcUrl)]), ([forSignatures, forBalances]) =>
      Layer.mergeAll(
        ViemSmartWalletSignatures.layer(forSignatures),
        ViemTokenBalances.layer(forBalances),
        Eip4361SiweParser.layer,
        // Path and query of the URL may contain a key.
        Layer.succeed(GatingSettings, { token: gatingToken, rpcEndpoint: Redacted.value(baseRpcUrl).origin })
      )
    )
  )

export const fromSettings = ({ baseRpcUrl, gatingToken }: Settings) => layer({ baseRpcUrl, gatingToken })
