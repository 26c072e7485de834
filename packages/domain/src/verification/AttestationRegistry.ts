import { Context, type Effect, type Option } from "effect"
import type { ChainUnreachable } from "../chain/ChainErrors.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"
import type { Attestation } from "./Attestation.ts"

/** Attestations in blocks that a reorganization does not remove. */
export class AttestationRegistry extends Context.Tag("@berth/AttestationRegistry")<
  AttestationRegistry,
  {
    readonly find: (uid: string) => Effect.Effect<Option.Option<Attestation>, ChainUnreachable>
    /** UID of the wallet's latest Coinbase account attestation in the indexer. */
    readonly findAccountAttestation: (wallet: WalletAddress) => Effect.Effect<Option.Option<string>, ChainUnreachable>
  }
>() {}
