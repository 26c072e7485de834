import { Context, type Effect, type Option } from "effect"
import type { BlockTag, ChainUnreachable } from "../chain/Chain.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"
import type { Attestation } from "./Attestation.ts"

/** Attestations of the Ethereum Attestation Service, and Coinbase's index of its attestations. */
export class AttestationRegistry extends Context.Tag("@berth/AttestationRegistry")<
  AttestationRegistry,
  {
    readonly find: (uid: string, at: BlockTag) => Effect.Effect<Option.Option<Attestation>, ChainUnreachable>
    /** UID of the wallet's latest Coinbase account attestation in the indexer. */
    readonly findAccountAttestation: (
      wallet: WalletAddress,
      at: BlockTag
    ) => Effect.Effect<Option.Option<string>, ChainUnreachable>
  }
>() {}
