import { maximumApiKeyNameLength } from "@berth/domain/accounts/api-keys/ApiKey"
import { minimumPasswordLength } from "@berth/domain/accounts/password/Password"
import { maximumDisplayNameLength } from "@berth/domain/accounts/profile/DisplayName"
import type { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import type { NotificationPreferences, User } from "@berth/domain/shared/User"
import type { Wallet } from "@berth/domain/signin/wallets/Wallet"
import { DateTime } from "effect"
import { type Html, html } from "./Html.ts"
import { formatPlan, renderStatusLine, renderWithScript } from "./Layout.ts"

const day = (at: DateTime.Utc) =>
  html`<time datetime="${DateTime.formatIso(at)}">${DateTime.formatIsoDateUtc(at)}</time>`

/** Contents from before the account was claimed; shown until the owner has decided. */
export const claimSection = html`
  <section aria-labelledby="claim-title">
    <h2 id="claim-title">Content from before the claim</h2>
    <p>
      This account was in use before its email address was confirmed. Every other sign-in method has been removed, but
      its agents may keep prompts and memory that another person wrote.
    </p>
    ${renderWithScript(
      "Deciding about the content",
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
      <dt>Email</dt>
      <dd>
        <span id="account-email">${email}</span>
        <span class="tag" id="account-email-state">${emailVerifiedAt === null ? "not confirmed" : "confirmed"}</span>
      </dd>
      <dt>Plan</dt>
      <dd>${formatPlan(plan)} (<a href="/pricing">change</a>)</dd>
      <dt>Credits</dt>
      <dd>${credits}</dd>
      <dt>Created</dt>
      <dd>${day(createdAt)}</dd>
      <dt>Referral code</dt>
      <dd><code>${referralCode}</code></dd>
    </dl>
    <details id="profile">
      <summary>Change name or email</summary>
      ${renderWithScript(
        "Changing the account",
        html`<form class="stack" id="profile-form">
            <label
              >Name
              <input name="name" value="${name}" autocomplete="name" maxlength="${maximumDisplayNameLength}" required
            /></label>
            <label>Email <input name="email" type="email" value="${email}" autocomplete="email" required /></label>
            <button>Save</button>
          </form>
          ${renderStatusLine("profile-status")}`
      )}
    </details>
    <details>
      <summary>Change password</summary>
      ${renderWithScript(
        "Changing your password",
        html`<form class="stack" id="password-form">
            <input type="hidden" name="username" autocomplete="username" value="${email}" />
            <label>
              Current password
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
            <button>Change password</button>
            <p class="muted">This ends every other session.</p>
          </form>
          ${renderStatusLine("password-status")}`
      )}
    </details>
  </section>
`

const choices: ReadonlyArray<readonly [keyof NotificationPreferences, string]> = [
  ["email", "Email notifications"],
  ["security", "Security: new sign-ins and changed passwords"],
  ["agentStatus", "Agent status: an agent fails or recovers"],
  ["product", "Product news"]
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
    ${wallets.length === 0 && html`<p class="muted">No wallets are linked to this account.</p>`}
    <ul class="rows">
      ${wallets.map(walletRow)}
    </ul>
    ${renderWithScript(
      "Linking a wallet",
      html`<div id="wallets" data-domain="${appUrl.host}" data-uri="${appUrl.origin}">
          <ul class="choices"></ul>
          <p class="muted">No wallet extension was found in this browser.</p>
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
      "Listing your sessions",
      html`<ul class="rows" id="sessions"></ul>
        ${renderStatusLine("sessions-status")}`
    )}
  </section>
`

const scopeChoices: ReadonlyArray<readonly [ApiKeyScope, string]> = [
  ["agents", "Agents: provision, configure, start and stop them"],
  ["chat", "Conversations with agents"],
  ["gateway", "Gateway calls, paid from your units"],
  ["billing", "Plan, units and credits"]
]

const lifetimes: ReadonlyArray<readonly [days: number, label: string]> = [
  [30, "30 days"],
  [90, "90 days"],
  [365, "a year"],
  [0, "until it is revoked"]
]

/** API keys of the user, listed by the script. */
export const apiKeysSection = html`
  <section aria-labelledby="api-keys-title">
    <h2 id="api-keys-title">API keys</h2>
    ${renderWithScript(
      "Listing your API keys",
      html`<ul class="rows" id="api-keys"></ul>
        <details>
          <summary>New API key</summary>
          <form class="stack" id="api-key-form">
            <label>Name <input name="name" maxlength="${maximumApiKeyNameLength}" required autocomplete="off" /></label>
            ${scopeChoices.map(
              ([scope, label]) =>
                html`<label class="choice"><input type="checkbox" name="scope" value="${scope}" /> ${label}</label>`
            )}
            <label>
              Valid for
              <select name="days">
                ${lifetimes.map(([days, label]) => html`<option value="${String(days)}">${label}</option>`)}
              </select>
            </label>
            <button>Create the key</button>
          </form>
        </details>
        <label hidden>Your new key <input id="api-key-secret" readonly autocomplete="off" /></label>
        ${renderStatusLine("api-keys-status")}`
    )}
  </section>
`

export const deletionSection = html`
  <section aria-labelledby="delete-title">
    <h2 id="delete-title">Delete account</h2>
    <details>
      <summary>Delete this account and its data</summary>
      ${renderWithScript(
        "Deleting the account",
        html`<form class="stack" id="delete-form">
            <p>
              This deletes your agents with their conversations and files, and your remaining credits. It cannot be
              undone.
            </p>
            <label>
              Password (leave empty if you sign in without one)
              <input name="password" type="password" autocomplete="current-password" />
            </label>
            <label class="choice"><input type="checkbox" name="sure" required /> Delete all my data</label>
            <button class="danger">Delete account</button>
          </form>
          ${renderStatusLine("delete-status")}`
      )}
    </details>
  </section>
`
