import { minimumPasswordLength } from "@berth/domain/accounts/password/Password"
import { maximumDisplayNameLength } from "@berth/domain/accounts/profile/DisplayName"
import type { NotificationPreferences, User } from "@berth/domain/shared/User"
import type { Wallet } from "@berth/domain/signin/wallets/Wallet"
import { DateTime } from "effect"
import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"

const day = (at: DateTime.Utc) =>
  html`<time datetime="${DateTime.formatIso(at)}">${DateTime.formatIsoDateUtc(at)}</time>`

/** Contents from before the account was claimed; shown until the owner has decided. */
export const claimSection = html`
  <section aria-labelledby="claim-title">
    <h2 id="claim-title">Contents from before you</h2>
    <p>
      This account was in use before its e-mail address was confirmed. Every other way to sign in has been removed, but
      its agents may keep prompts and memory that another person wrote.
    </p>
    ${renderWithScript(
      "Deciding about them",
      html`<div class="actions">
          <button data-claim="reset">Delete prompts, agent settings and conversations</button>
          <button class="quiet" data-claim="keep">Keep everything</button>
        </div>
        ${renderStatusLine("claim-status")}`
    )}
  </section>
`

/** Profile and password of the user. */
export const accountSection = ({
  createdAt,
  credits,
  email,
  emailVerifiedAt,
  name,
  plan,
  referralCode
}: User): Html => html`
  <section aria-labelledby="account">
    <h2 id="account">Account</h2>
    <dl class="facts">
      <dt>Name</dt>
      <dd id="account-name">${name}</dd>
      <dt>E-mail</dt>
      <dd>
        <span id="account-email">${email}</span>
        <span class="tag" id="account-email-state">${emailVerifiedAt === null ? "not confirmed" : "confirmed"}</span>
      </dd>
      <dt>Plan</dt>
      <dd>${plan} (<a href="/pricing">plans</a>)</dd>
      <dt>Credits</dt>
      <dd>${credits}</dd>
      <dt>Since</dt>
      <dd>${day(createdAt)}</dd>
      <dt>Referral code</dt>
      <dd><code>${referralCode}</code></dd>
    </dl>
    ${
      emailVerifiedAt === null &&
      renderWithScript(
        "Mailing the link that confirms your e-mail again",
        html`<button class="quiet" id="confirm-email">Mail me the link that confirms my e-mail again</button>
          ${renderStatusLine("confirm-email-status")}`
      )
    }
    <details>
      <summary>Change name or e-mail</summary>
      ${renderWithScript(
        "Changing the account",
        html`<form class="stack" id="profile-form">
            <label
              >Name
              <input name="name" value="${name}" autocomplete="name" maxlength="${maximumDisplayNameLength}" required
            /></label>
            <label>E-mail <input name="email" type="email" value="${email}" autocomplete="email" required /></label>
            <button>Save</button>
          </form>
          ${renderStatusLine("profile-status")}`
      )}
    </details>
    <details>
      <summary>Change the password</summary>
      ${renderWithScript(
        "Changing the password",
        html`<form class="stack" id="password-form">
            <input type="hidden" name="username" autocomplete="username" value="${email}" />
            <label>
              Present password
              <input name="currentPassword" type="password" autocomplete="current-password" required />
            </label>
            <label>
              New password, at least ${minimumPasswordLength} characters
              <input
                name="newPassword"
                type="password"
                autocomplete="new-password"
                minlength="${minimumPasswordLength}"
                required
              />
            </label>
            <button>Change the password</button>
            <p class="muted">Every other session ends.</p>
          </form>
          ${renderStatusLine("password-status")}`
      )}
    </details>
  </section>
`

const choices: ReadonlyArray<readonly [keyof NotificationPreferences, string]> = [
  ["email", "By e-mail at all"],
  ["security", "Security: sign-ins, changed passwords"],
  ["agentStatus", "When an agent fails or is up again"],
  ["product", "News of the service"]
]

export const notificationsSection = (wanted: NotificationPreferences): Html => html`
  <section aria-labelledby="notifications">
    <h2 id="notifications">Notifications</h2>
    ${renderWithScript(
      "Choosing notifications",
      html`<form class="stack" id="notifications-form">
          ${choices.map(
            ([name, label]) =>
              html`<label class="choice">
                <input type="checkbox" name="${name}" ${wanted[name] && html`checked`} /> ${label}
              </label>`
          )}
        </form>
        ${renderStatusLine("notifications-status")}`
    )}
  </section>
`

const walletRow = ({ address, linkedAt }: Wallet): Html => html`
  <li class="row">
    <span><code>${address}</code> <span class="muted">since ${day(linkedAt)}</span></span>
    <button class="quiet" data-unlink="${address}" aria-label="Unlink ${address}" data-needs-script hidden>
      Unlink
    </button>
  </li>
`

/** The wallets that sign in to this account. */
export const walletsSection = (wallets: ReadonlyArray<Wallet>, appUrl: URL): Html => html`
  <section aria-labelledby="wallets-title">
    <h2 id="wallets-title">Wallets</h2>
    ${wallets.length === 0 && html`<p class="muted">No wallet signs in to this account.</p>`}
    <ul class="rows">
      ${wallets.map(walletRow)}
    </ul>
    ${renderWithScript(
      "Linking a wallet",
      html`<div id="wallets" data-domain="${appUrl.host}" data-uri="${appUrl.origin}">
          <ul class="choices"></ul>
          <p class="muted">No wallet was found in this browser.</p>
        </div>
        ${renderStatusLine("wallet-status")}`
    )}
  </section>
`

/** Sessions of the user, listed by the script. */
export const sessionsSection = html`
  <section aria-labelledby="sessions-title">
    <h2 id="sessions-title">Sessions</h2>
    ${renderWithScript(
      "Seeing where you are signed in",
      html`<ul class="rows" id="sessions"></ul>
        ${renderStatusLine("sessions-status")}`
    )}
  </section>
`

export const deletionSection = html`
  <section aria-labelledby="delete-title">
    <h2 id="delete-title">Delete the account</h2>
    <details>
      <summary>Delete the account and everything in it</summary>
      ${renderWithScript(
        "Deleting the account",
        html`<form class="stack" id="delete-form">
            <p>
              Your agents, their conversations and files, and what is left of your credits go with it. Nothing can bring
              them back.
            </p>
            <label>
              Password (leave it empty when you sign in without one)
              <input name="password" type="password" autocomplete="current-password" />
            </label>
            <label class="choice"><input type="checkbox" name="sure" required /> I want to lose all of it</label>
            <button class="danger">Delete the account</button>
          </form>
          ${renderStatusLine("delete-status")}`
      )}
    </details>
  </section>
`
