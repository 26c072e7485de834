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

/** A message and its signature as they came, and where they came from. */
export interface WalletProofRequest {
  readonly message: string
  readonly signature: string
  /** Whether a page sends this: then the nonce has to be the one that this browser was given. */
  readonly isFromPage: boolean
  /** The ticket that the browser was given with its nonce. */
  readonly ticket: Option.Option<Redacted.Redacted>
}

/** A wallet that its holder has shown to be his. Worth nothing until `spend` has let it through, which happens once. */
export interface WalletProof {
  readonly address: WalletAddress
  readonly nonceHashes: ReadonlyArray<string>
}

type ProofFault = SiweFault | "malformed message" | "no nonce for this browser" | "not signed by it" | "used before"

/** The message or its signature proves nothing. `reason` is for our own log. */
export class WalletProofRejected extends Data.TaggedError("WalletProofRejected")<{ readonly reason: ProofFault }> {}

/** A used nonce is remembered for longer than any message with it could still be taken. */
const remembered = Duration.sum(Duration.times(siweFreshness, 2), siweClockSkew)

/** Proof that a wallet is whose who shows it: a fresh message of ours, signed by it, used once. */
export class WalletProofs extends Effect.Service<WalletProofs>()("@berth/WalletProofs", {
  effect: Effect.gen(function* () {
    const messages = yield* SiweParser
    const signatures = yield* SmartWalletSignatures
    const nonces = yield* WalletNonces
    const used = yield* WalletNonceRepository
    const digests = yield* Digests
    const { appUrl } = yield* AccountPolicy

    const refuse = (reason: ProofFault) => new WalletProofRejected({ reason })
    const hash = (text: string) => hashSecret(digests, Redacted.make(text))

    /** Everything but whether the nonce was used before. */
    const verify = Effect.fn("WalletProofs.verify")(
      function* ({ isFromPage, message: text, signature, ticket }: WalletProofRequest) {
        if (text.length > maximumSiweMessageLength) return yield* refuse("malformed message")
        const message = yield* Either.mapLeft(messages.parse(text), () => refuse("malformed message"))
        const given = yield* Option.match(ticket, { onNone: () => Effect.succeedNone, onSome: nonces.readTicket })
        if (isFromPage && Option.isNone(given)) return yield* refuse("no nonce for this browser")
        const expected = isFromPage ? given : Option.none()
        const now = yield* DateTime.now
        yield* Either.mapLeft(validateSiweMessage(message, { appUrl, now, nonce: expected }), refuse)
        const { address, nonce } = message
        const verdict = yield* signatures.verify({ address, message: text, signature, chain: "base" })
        if (verdict === "invalid") return yield* refuse("not signed by it")
        const isOurs = Option.exists(given, (own) => own === nonce)
        // A nonce of ours works once for whichever wallet; of others we know only that this wallet has not used it.
        const nonceHashes = [
          hash(`${normalizeWalletAddress(address)} ${nonce}`),
          ...(isOurs ? [hash(`any ${nonce}`)] : [])
        ]
        return { address, nonceHashes } satisfies WalletProof
      },
      Effect.tapErrorTag("WalletProofRejected", ({ reason }) =>
        Effect.logInfo("A wallet's proof was refused").pipe(Effect.annotateLogs({ reason }))
      )
    )

    /** Uses a proof up. In the transaction of what it is good for, which it fails when it was used before. */
    const consume = Effect.fn("WalletProofs.consume")(function* ({ nonceHashes }: WalletProof) {
      const until = DateTime.addDuration(yield* DateTime.now, remembered)
      if (!(yield* used.consume(nonceHashes, until))) return yield* refuse("used before")
    })

    return { verify, consume }
  })
}) {}
