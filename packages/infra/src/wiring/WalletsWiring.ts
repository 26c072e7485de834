import { DeveloperWallets } from "@berth/domain/wallets/DeveloperWallets"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { FetchHttpClient } from "@effect/platform"
import { Duration, Effect, Layer, Option, type Redacted } from "effect"
import * as CdpDeveloperWallets from "../cdp/CdpDeveloperWallets.ts"
import { makeRpcNode } from "../chain/ChainNode.ts"
import * as ViemWalletChain from "../chain/ViemWalletChain.ts"
import * as ViemWalletKeys from "../chain/ViemWalletKeys.ts"
import type { Settings } from "../configuration/Settings.ts"

export interface WalletsOptions {
  readonly rpcUrl: Redacted.Redacted<URL>
  readonly cdp: Option.Option<CdpDeveloperWallets.CdpSettings>
}

/** A page waits for the balance. */
const rpcTimeout = Duration.seconds(3)

export const layer = ({ cdp, rpcUrl }: WalletsOptions) =>
  Layer.mergeAll(
    ViemWalletKeys.layer,
    Layer.unwrapEffect(
      Effect.map(makeRpcNode({ ...walletNetwork, url: rpcUrl, timeout: rpcTimeout }), ViemWalletChain.layer)
    ),
    Option.match(cdp, {
      onNone: () => Layer.succeed(DeveloperWallets, Option.none()),
      onSome: (settings) => Layer.provide(CdpDeveloperWallets.layer(settings), FetchHttpClient.layer)
    })
  )

export const fromSettings = ({ baseSepoliaRpcUrl, cdp }: Settings) => layer({ rpcUrl: baseSepoliaRpcUrl, cdp })
