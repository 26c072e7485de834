import { DeveloperWallets } from "@berth/domain/wallets/DeveloperWallets"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { FetchHttpClient } from "@effect/platform"
import { Duration, Effect, Layer, Option, type Redacted } from "effect"
import * as CdpDeveloperWallets from "../cdp/CdpDeveloperWallets.ts"
import { makeRpcNode } from "../chain/ChainNode.ts"
import * as ViemWalletChain from "../chain/ViemWalletChain.ts"
import * as ViemWalletSigner from "../chain/ViemWalletSigner.ts"
import * as ViemWalletKeys from "../chain/ViemWalletKeys.ts"
import * as OutboundClient from "../net/OutboundClient.ts"
import * as X402PaidResources from "../x402/X402PaidResources.ts"
import type { Settings } from "../configuration/Settings.ts"

interface WalletsOptions {
  readonly rpcUrl: Redacted.Redacted<URL>
  /** Private networks in which paid services are permitted. */
  readonly outboundAllowCidrs: ReadonlyArray<string>
  readonly cdp: Option.Option<CdpDeveloperWallets.CdpSettings>
}

/** Short, since a page waits for the balance. */
const rpcTimeout = Duration.seconds(3)

export const layer = ({ cdp, outboundAllowCidrs, rpcUrl }: WalletsOptions) =>
  Layer.mergeAll(
    ViemWalletKeys.layer,
    ViemWalletSigner.layer,
    Layer.provide(X402PaidResources.layer, OutboundClient.layer({ allowed: outboundAllowCidrs })),
    Layer.unwrapEffect(
      Effect.map(makeRpcNode({ ...walletNetwork, url: rpcUrl, timeout: rpcTimeout }), ViemWalletChain.layer)
    ),
    Option.match(cdp, {
      onNone: () => Layer.succeed(DeveloperWallets, Option.none()),
      onSome: (settings) => Layer.provide(CdpDeveloperWallets.layer(settings), FetchHttpClient.layer)
    })
  )

export const fromSettings = ({ baseSepoliaRpcUrl, cdp, outboundAllowCidrs }: Settings) =>
  layer({ rpcUrl: baseSepoliaRpcUrl, cdp, outboundAllowCidrs })
