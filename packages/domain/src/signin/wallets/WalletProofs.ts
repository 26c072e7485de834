import { Data, DateTime, Duration, Effect, Either, Option, Redacted } from "effect"
import { SmartWalletSignatures } from "../../chain/SmartWalletSignatures.ts"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import { normalizeWalletAddress } from "../../chain/WalletAddress.ts"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { validateSiweMessage, siweClockSkew, siweFreshness, type SiweFault } from "./SiweValidation.ts"
import { maximumSiweMessageLength, SiweParser } from "./SiweParser.ts"
import { WalletNonceRepository } from "./WalletNonceRepository.ts"
import { WalletNonces } from "./WalletNonces.ts"

export interface WalletProofRequest {
  readonly message: string
  readonly signature: string
  /** A page must use the nonce issued to its browser. */
  readonly isFromPage: boolean
  /** Ticket of the issued nonce. */
  readonly ticket: Option.Option<Redacted.Redacted>
}

/** Valid only after `consume`, which succeeds at most once. */
interface WalletProof {
  readonly address: WalletAddress
  readonly nonceHashes: ReadonlyArray<string>
}

type ProofFault = SiweFault | "malformed message" | "no nonce for this browser" | "invalid signature" | "used before"

/** `reason` is for the log. */
export class WalletProofRejected extends Data.TaggedError("WalletProofRejected")<{ readonly reason: ProofFault }> {}

/** Used nonces are stored longer than their messages can be valid. */
const nonceRetention = Duration.sum(Duration.times(siweFreshness, 2), siweClockSkew)

/** Verifies SIWE proofs: a fresh message for this service, signed by the wallet, used once. */
export class WalletProofs extends Effect.Service<WalletProofs>()("@berth/WalletProofs", {
  effect: Effect.gen(function* () {
    const messages = yield* SiweParser
    const signatures = yield* SmartWalletSignatures
    const nonces = yield* WalletNonces
    const used = yield* WalletNonceRepository
    const digests = yield* Digests
    const { appUrl } = yield* AccountPolicy

    const reject = (reason: ProofFault) => new WalletProofRejected({ reason })
    const hash = (text: string) => hashSecret(digests, Redacted.make(text))

    /** Does not check the use of the nonce. */
    const verify = Effect.fn("WalletProofs.verify")(
      function* ({ isFromPage, message: text, signature, ticket }: WalletProofRequest) {
        if (text.length > maximumSiweMessageLength) return yield* reject("malformed message")
        const message = yield* Either.mapLeft(messages.parse(text), () => reject("malformed message"))
        const issued = yield* Option.match(ticket, { onNone: () => Effect.succeedNone, onSome: nonces.readTicket })
        if (isFromPage && Option.isNone(issued)) return yield* reject("no nonce for this browser")
        const expected = isFromPage ? issued : Option.none()
        const now = yield* DateTime.now
        yield* Either.mapLeft(validateSiweMessage(message, { appUrl, now, nonce: expected }), reject)
        const { address, nonce } = message
        const verdict = yield* signatures.verify({ address, message: text, signature, chain: "base" })
        if (verdict === "invalid") return yield* reject("invalid signature")
        const isIssued = Option.exists(issued, (own) => own === nonce)
        // An issued nonce is single-use across wallets, any other nonce per wallet.
        const nonceHashes = [
          hash(`${normalizeWalletAddress(address)} ${nonce}`),
          ...(isIssued ? [hash(`any ${nonce}`)] : [])
        ]
        return { address, nonceHashes } satisfies WalletProof
      },
      Effect.tapErrorTag("WalletProofRejected", ({ reason }) =>
        Effect.logInfo("Wallet proof rejected").pipe(Effect.annotateLogs({ reason }))
      )
    )

    /** Call in the transaction of the proven action; fails for a used proof. */
    const consume = Effect.fn("WalletProofs.consume")(function* ({ nonceHashes }: WalletProof) {
      const until = DateTime.addDuration(yield* DateTime.now, nonceRetention)
      if (!(yield* used.consume(nonceHashes, until))) return yield* reject("used before")
    })

    return { verify, consume }
  })
}) {}
