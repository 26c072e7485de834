import { Context } from "effect"
import type { AttestationTrust } from "./Attestation.ts"

export class VerificationPolicy extends Context.Tag("@berth/VerificationPolicy")<
  VerificationPolicy,
  {
    readonly eas: AttestationTrust
    readonly coinbase: AttestationTrust
  }
>() {}
