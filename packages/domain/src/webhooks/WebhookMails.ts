import { joinMailLines } from "../accounts/AccountMails.ts"
import type { MailDraft } from "../mail/MailOutbox.ts"
import type { Email } from "../shared/Email.ts"
import type { DisabledReason, WebhookEndpoint } from "./WebhookEndpoint.ts"

const causes: Record<DisabledReason, string> = {
  gone: "The receiver responded with status 410 (Gone).",
  failing: "No delivery has succeeded for five days."
}

/** Omits the URL, whose path may contain a secret of the receiver. */
export const composeEndpointDisabledMail = (
  to: Email,
  appUrl: URL,
  { id }: Pick<WebhookEndpoint, "id">,
  reason: DisabledReason
): MailDraft => ({
  to,
  subject: "A webhook endpoint was disabled",
  text: joinMailLines(
    `Your webhook endpoint ${id} at ${appUrl.host} receives no more events.`,
    "",
    causes[reason],
    "",
    `Enable it again by POST /api/webhooks/endpoints/${id}/enable, and send missed events by POST`,
    `/api/webhooks/endpoints/${id}/replay.`
  )
})
