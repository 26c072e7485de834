import { joinMailLines } from "../accounts/AccountMails.ts"
import type { VerificationType } from "../agents/AgentVerifications.ts"
import type { MailDraft } from "../mail/MailOutbox.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { Email } from "../shared/Email.ts"
import type { VerificationFault } from "./VerificationErrors.ts"

const sentences: Partial<Record<VerificationFault, string>> = {
  wallet_not_linked: "The wallet is no longer linked to your account.",
  recipient_not_linked: "The attestation's wallet is no longer linked to your account.",
  attestation_missing: "The attestation is gone.",
  attestation_revoked: "The attestation was revoked.",
  attestation_expired: "The attestation is expired.",
  name_missing: "The wallet has no primary ENS name any more.",
  name_mismatch: "The ENS name moved to another address."
}

const makeVerificationPath = (agentId: AgentId): string =>
  `/dashboard/agents/${encodeURIComponent(agentId)}/verification`

/** Names the agent by its id, since mails contain no text written by users. */
export const composeVerificationLostMail = (
  to: Email,
  appUrl: URL,
  lost: { readonly agentId: AgentId; readonly type: VerificationType; readonly fault: VerificationFault }
): MailDraft => ({
  to,
  subject: "An agent is no longer verified",
  text: joinMailLines(
    `Your agent ${lost.agentId} at ${appUrl.host} has lost its verification (${lost.type}).`,
    "",
    sentences[lost.fault] ?? "Its attestation is not accepted here any more.",
    "",
    "You can verify it again:",
    "",
    `${appUrl.origin}${makeVerificationPath(lost.agentId)}`
  )
})
