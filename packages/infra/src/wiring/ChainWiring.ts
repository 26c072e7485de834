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

/** What is asked of the base network: whose a signature is, and who holds what. */
export const layer = ({ baseRpcUrl, gatingToken }: ChainOptions) =>
  Layer.unwrapEffect(
    // A client each: who floods the one, which has no limit per address, does not keep the other busy.
    Effect.map(Effect.all([node(baseRpcUrl), node(baseRpcUrl)]), ([forSignatures, forBalances]) =>
      Layer.mergeAll(
        ViemSmartWalletSignatures.layer(forSignatures),
        ViemTokenBalances.layer(forBalances),
        Eip4361SiweParser.layer,
        // The path and the query of a node's address are where its key is.
        Layer.succeed(GatingSettings, { token: gatingToken, rpcEndpoint: Redacted.value(baseRpcUrl).origin })
      )
    )
  )

/** The same for a process with these settings. */
export const fromSettings = ({ baseRpcUrl, gatingToken }: Settings) => layer({ baseRpcUrl, gatingToken })
