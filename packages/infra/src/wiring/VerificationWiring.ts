import type { AttestationTrust } from "@berth/domain/verification/Attestation"
import { VerificationPolicy } from "@berth/domain/verification/VerificationPolicy"
import { Effect, Layer, type Redacted } from "effect"
import type { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makeChainNode } from "../chain/ChainNode.ts"
import * as EasAttestationRegistry from "../chain/EasAttestationRegistry.ts"
import * as EnsNameRegistry from "../chain/EnsNameRegistry.ts"
import type { Settings } from "../configuration/Settings.ts"
import * as OutboundClient from "../net/OutboundClient.ts"
import * as SimpleWebAuthn from "../webauthn/SimpleWebAuthn.ts"

export interface VerificationOptions {
  readonly baseRpcUrl: Redacted.Redacted<URL>
  readonly ethereumRpcUrl: Redacted.Redacted<URL>
  readonly eas: AttestationTrust & { readonly address: WalletAddress }
  readonly coinbase: {
    readonly indexer: WalletAddress
    readonly schema: string
    readonly attester: WalletAddress
  }
}

/** Reads of attestations and names, for requests and periodic checks. */
export const chainLayer = ({ baseRpcUrl, coinbase, eas, ethereumRpcUrl }: VerificationOptions) =>
  Layer.unwrapEffect(
    Effect.map(
      Effect.all([
        makeChainNode({ chain: "base", url: baseRpcUrl }),
        makeChainNode({ chain: "ethereum", url: ethereumRpcUrl })
      ]),
      ([base, ethereum]) =>
        Layer.mergeAll(
          EasAttestationRegistry.layer(base, {
            eas: eas.address,
            coinbaseIndexer: coinbase.indexer,
            coinbaseSchema: coinbase.schema
          }),
          EnsNameRegistry.layer(ethereum),
          Layer.succeed(VerificationPolicy, {
            eas,
            coinbase: { schemas: [coinbase.schema], attesters: [coinbase.attester] }
          })
        )
    )
  )

export const chainFromSettings = ({ baseRpcUrl, ethereumRpcUrl, outboundAllowCidrs, verification }: Settings) =>
  Layer.provide(
    chainLayer({ baseRpcUrl, ethereumRpcUrl, ...verification }),
    OutboundClient.layer({ allowed: outboundAllowCidrs })
  )

export const fromSettings = (settings: Settings) =>
  Layer.merge(chainFromSettings(settings), SimpleWebAuthn.layer({ appUrl: settings.addresses.appUrl }))
