import { DateTime, Effect, Option } from "effect"
import type { BlockTag } from "../chain/Chain.ts"
import { normalizeWalletAddress, type WalletAddress } from "../chain/WalletAddress.ts"
import { LinkedWallets } from "../signin/wallets/LinkedWallets.ts"
import type { UserId } from "../shared/UserId.ts"
import { type AttestationTrust, validateAttestation } from "./Attestation.ts"
import { AttestationRegistry } from "./AttestationRegistry.ts"
import { NameRegistry } from "./NameRegistry.ts"
import { noEvidence, type VerificationEvidence } from "./Verification.ts"
import { VerificationRejected } from "./VerificationErrors.ts"
import { VerificationPolicy } from "./VerificationPolicy.ts"

const isSameAddress = (a: WalletAddress, b: WalletAddress) => normalizeWalletAddress(a) === normalizeWalletAddress(b)

/**
 * Reads on-chain evidence about an owner's wallets. Claims are read at the latest block, so that a new attestation is
 * valid at once.
 */
export class ChainEvidence extends Effect.Service<ChainEvidence>()("@berth/ChainEvidence", {
  effect: Effect.gen(function* () {
    const attestations = yield* AttestationRegistry
    const names = yield* NameRegistry
    const { listAddresses: listWallets } = yield* LinkedWallets
    const policy = yield* VerificationPolicy

    const readAttestation = Effect.fnUntraced(function* (
      uid: string,
      trust: AttestationTrust,
      recipients: ReadonlyArray<WalletAddress>,
      at: BlockTag
    ) {
      const attestation = yield* Effect.mapError(
        yield* attestations.find(uid, at),
        () => new VerificationRejected({ fault: "attestation_missing" })
      )
      yield* Effect.mapError(
        validateAttestation(attestation, trust, recipients, yield* DateTime.now),
        (fault) => new VerificationRejected({ fault })
      )
      const { attester, recipient } = attestation
      return {
        ...noEvidence,
        attestationUid: attestation.uid,
        verifierAddress: attester,
        walletAddress: recipient
      } satisfies VerificationEvidence
    })

    /** Returns a trusted attestation of one of the owner's wallets. */
    const readOwnAttestation = Effect.fn("ChainEvidence.readOwnAttestation")(function* (
      ownerId: UserId,
      uid: string,
      at: BlockTag
    ) {
      return yield* readAttestation(uid, policy.eas, yield* listWallets(ownerId), at)
    })

    /** Returns the Coinbase account attestation of a linked wallet. */
    const readAccountAttestation = Effect.fn("ChainEvidence.readAccountAttestation")(function* (
      ownerId: UserId,
      wallet: WalletAddress,
      at: BlockTag
    ) {
      if (!(yield* listWallets(ownerId)).some((own) => isSameAddress(own, wallet)))
        return yield* new VerificationRejected({ fault: "wallet_not_linked" })
      const uid = yield* Effect.mapError(
        yield* attestations.findAccountAttestation(wallet, at),
        () => new VerificationRejected({ fault: "attestation_missing" })
      )
      return yield* readAttestation(uid, policy.coinbase, [wallet], at)
    })

    /** Returns the wallet's primary name. Anyone can claim any name, so the name must also resolve to the wallet. */
    const readPrimaryName = Effect.fn("ChainEvidence.readPrimaryName")(function* (wallet: WalletAddress, at: BlockTag) {
      const ensName = yield* Effect.mapError(
        yield* names.findPrimaryName(wallet, at),
        () => new VerificationRejected({ fault: "name_missing" })
      )
      const address = yield* names.findAddress(ensName, at)
      if (!Option.exists(address, (found) => isSameAddress(found, wallet)))
        return yield* new VerificationRejected({ fault: "name_mismatch" })
      return {
        ...noEvidence,
        verifierAddress: wallet,
        walletAddress: wallet,
        ensName
      } satisfies VerificationEvidence
    })

    return { listWallets, readOwnAttestation, readAccountAttestation, readPrimaryName }
  })
}) {}
