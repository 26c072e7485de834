import { GatingSettings } from "@berth/domain/gating/GatingToken"
import { SignInSite } from "@berth/domain/signin/SignInSite"
import { Effect, Layer, Redacted } from "effect"
import { makeChainNode } from "../chain/ChainNode.ts"
import * as SiweParser from "../chain/SiweParser.ts"
import * as ViemSmartWalletSignatures from "../chain/ViemSmartWalletSignatures.ts"
import * as ViemTokenBalances from "../chain/ViemTokenBalances.ts"
import type { Settings } from "../configuration/Settings.ts"

export interface ChainOptions {
  readonly appUrl: URL
  readonly baseRpcUrl: Redacted.Redacted<URL>
  readonly gatingToken: Settings["gatingToken"]
}

/** What is asked of the base network, on one client: whose a signature is, and who holds what. */
export const layer = ({ appUrl, baseRpcUrl, gatingToken }: ChainOptions) =>
  Layer.unwrapEffect(
    Effect.map(makeChainNode({ chain: "base", url: baseRpcUrl }), (node) =>
      Layer.mergeAll(
        ViemSmartWalletSignatures.layer(node),
        ViemTokenBalances.layer(node),
        SiweParser.layer,
        Layer.succeed(SignInSite, appUrl),
        // The path and the query of a node's address are where its key is.
        Layer.succeed(GatingSettings, { token: gatingToken, rpcEndpoint: Redacted.value(baseRpcUrl).origin })
      )
    )
  )

/** The same for a process with these settings. */
export const fromSettings = ({ addresses, baseRpcUrl, gatingToken }: Settings) =>
  layer({ appUrl: addresses.appUrl, baseRpcUrl, gatingToken })
