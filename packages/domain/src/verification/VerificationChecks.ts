import { DateTime, Effect, Option, Schema } from "effect"
import { AccessNotices } from "../accounts/access-notices/AccessNotices.ts"
import { AccountPolicy } from "../accounts/AccountPolicy.ts"
import { DomainEvents } from "../events/DomainEvents.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { MailOutbox } from "../mail/MailOutbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { ChainEvidence } from "./ChainEvidence.ts"
import { proofTimeout, recheckInterval, type Verification, VerificationId } from "./Verification.ts"
import { type VerificationFault, VerificationRejected, VerificationUnavailable } from "./VerificationErrors.ts"
import { composeVerificationLostMail } from "./VerificationMails.ts"
import { VerificationRepository } from "./VerificationRepository.ts"
import { defineJob } from "../jobs/JobKind.ts"

export const CheckVerificationJob = defineJob({
  queue: "tasks",
  name: "check-verification",
  payload: Schema.Struct({ verificationId: VerificationId }),
  isCoalesced: true
})

/** Maximum checks scheduled per run. */
const checksPerRun = 100

/** Removes verifications whose on-chain proof is no longer valid. */
export class VerificationChecks extends Effect.Service<VerificationChecks>()("@berth/VerificationChecks", {
  effect: Effect.gen(function* () {
    const repository = yield* VerificationRepository
    const evidence = yield* ChainEvidence
    const notices = yield* AccessNotices
    const mails = yield* MailOutbox
    const events = yield* DomainEvents
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const { appUrl } = yield* AccountPolicy

    /** Appends the due checks, the longest overdue first. */
    const scheduleDue = Effect.fn("VerificationChecks.scheduleDue")(function* () {
      const now = yield* DateTime.now
      yield* transaction.run(
        Effect.flatMap(
          repository.claimDue(now, DateTime.addDuration(now, recheckInterval), checksPerRun),
          Effect.forEach(({ id, ownerId }) => outbox.append(CheckVerificationJob, { verificationId: id }, ownerId), {
            discard: true
          })
        )
      )
    })

    const missing = (fault: VerificationFault) => new VerificationRejected({ fault })

    /**
     * Reads again at a safe block, so that a reorganization of a few blocks neither keeps nor removes a verification.
     */
    const readAgain = Effect.fnUntraced(function* ({
      attestationUid,
      ensName,
      ownerId,
      type,
      walletAddress
    }: Verification) {
      if (type === "eas")
        return attestationUid === null
          ? yield* missing("attestation_missing")
          : yield* evidence.readOwnAttestation(ownerId, attestationUid, "safe")
      if (walletAddress === null) return yield* missing("wallet_not_linked")
      if (type === "coinbase") return yield* evidence.readAccountAttestation(ownerId, walletAddress, "safe")
      const found = yield* evidence.readPrimaryName(walletAddress, "safe")
      return found.ensName === ensName ? found : yield* missing("name_mismatch")
    })

    const lose = Effect.fnUntraced(function* (verification: Verification, fault: VerificationFault) {
      const { agentId, id, ownerId, type } = verification
      const isLost = yield* transaction.run(
        Effect.gen(function* () {
          // False if the owner has verified the agent again.
          if (!(yield* repository.removeCurrent(id))) return false
          yield* events.append(
            { kind: "agent.verification_lost", data: { agentId, verificationType: type, reason: fault } },
            ownerId
          )
          const to = yield* notices.findAddress(ownerId)
          if (Option.isSome(to))
            yield* mails.append(composeVerificationLostMail(to.value, appUrl, { agentId, type, fault }), ownerId)
          return true
        })
      )
      if (isLost) yield* Effect.logInfo("Verification lost").pipe(Effect.annotateLogs({ agentId, type, fault }))
    })

    /** Idempotent. An unreachable chain changes nothing; the next check follows after the interval. */
    const check = Effect.fn("VerificationChecks.check")(function* (id: VerificationId) {
      const found = yield* repository.findById(id)
      if (Option.isNone(found) || found.value.type === "webauthn") return
      const verification = found.value
      yield* Effect.timeoutFail(readAgain(verification), {
        duration: proofTimeout,
        onTimeout: () => new VerificationUnavailable()
      }).pipe(
        Effect.flatMap(({ attestationUid }) =>
          attestationUid === null || attestationUid === verification.attestationUid
            ? Effect.void
            : repository.setAttestationUid(id, attestationUid)
        ),
        Effect.catchTags({
          VerificationRejected: ({ fault }) => lose(verification, fault),
          ChainUnreachable: () => Effect.logWarning("Verification not checked, the chain is unreachable"),
          VerificationUnavailable: () => Effect.logWarning("Verification not checked, the chain is too slow")
        })
      )
    })

    return { scheduleDue, check }
  })
}) {}
