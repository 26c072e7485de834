import { DateTime, Either, Option, Schema } from "effect"
import { normalizeWalletAddress, type WalletAddress } from "../chain/WalletAddress.ts"
import type { VerificationFault } from "./VerificationErrors.ts"

/** 32 bytes as `0x` and 64 hex digits, in any letter case. */
export const AttestationUid = Schema.String.pipe(
  Schema.filter((text) => /^0x[0-9a-fA-F]{64}$/.test(text), { message: () => "must be 0x and 64 hex digits" })
)

/** An attestation of the Ethereum Attestation Service. */
export interface Attestation {
  readonly uid: string
  readonly schema: string
  readonly attester: WalletAddress
  readonly recipient: WalletAddress
  readonly isRevoked: boolean
  /** None if it never expires. */
  readonly expiresAt: Option.Option<DateTime.Utc>
}

export interface AttestationTrust {
  readonly schemas: ReadonlyArray<string>
  readonly attesters: ReadonlyArray<WalletAddress>
}

const includes = (list: ReadonlyArray<string>, text: string) =>
  list.some((entry) => entry.toLowerCase() === text.toLowerCase())

/** Validates that a trusted attester attests one of the wallets with a trusted schema, at this time. */
export const validateAttestation = (
  attestation: Attestation,
  { attesters, schemas }: AttestationTrust,
  wallets: ReadonlyArray<WalletAddress>,
  now: DateTime.Utc
): Either.Either<void, VerificationFault> => {
  const faults: ReadonlyArray<readonly [boolean, VerificationFault]> = [
    [!includes(schemas, attestation.schema), "schema_untrusted"],
    [!includes(attesters, attestation.attester), "attester_untrusted"],
    [!includes(wallets.map(normalizeWalletAddress), attestation.recipient), "recipient_not_linked"],
    [attestation.isRevoked, "attestation_revoked"],
    [Option.exists(attestation.expiresAt, DateTime.lessThanOrEqualTo(now)), "attestation_expired"]
  ]
  const fault = faults.find(([isFault]) => isFault)
  return fault === undefined ? Either.void : Either.left(fault[1])
}
