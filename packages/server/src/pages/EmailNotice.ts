import { AccountPolicy, isSyntheticEmail } from "@berth/domain/accounts/AccountPolicy"
import type { User } from "@berth/domain/shared/User"
import { Effect } from "effect"
import { type Html, html } from "./Html.ts"
import { PageSettings, renderStatusLine, renderWithScript } from "./Layout.ts"

const confirmation = (email: string, logsMailLinks: boolean): Html => html`
  <section class="notice" aria-labelledby="confirm-title">
    <h2 id="confirm-title">Confirm your email address</h2>
    <p>We sent a link to <strong>${email}</strong>. Open it to confirm the address.</p>
    ${
      logsMailLinks &&
      html`<p>
        <strong>Development:</strong> no mail server is configured. The link is in the terminal that runs Berth, in the
        log entry <code>Mail written</code>.
      </p>`
    }
    ${renderWithScript(
      "Emailing a new link",
      html`<button id="confirm-email">Email a new link</button> ${renderStatusLine("confirm-email-status")}`
    )}
  </section>
`

const missingEmail = html`
  <section class="notice" aria-labelledby="confirm-title">
    <h2 id="confirm-title">Add an email address</h2>
    <p>
      Your account has no email address. The daily units of the free plan become available once you
      <a href="/dashboard#profile">add one</a> and confirm it.
    </p>
  </section>
`

/** The notice about a user's email address: to confirm it or to add one; none for a confirmed one. */
export const makeEmailNotice = Effect.gen(function* () {
  const policy = yield* AccountPolicy
  const { logsMailLinks } = yield* PageSettings
  return (user: User): Html | null => {
    if (user.emailVerifiedAt !== null) return null
    if (!isSyntheticEmail(user.email, policy)) return confirmation(user.email, logsMailLinks)
    return policy.verifiedEmailsOnly && user.plan === "free" ? missingEmail : null
  }
})
