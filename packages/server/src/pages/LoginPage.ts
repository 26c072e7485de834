import { minimumPasswordLength } from "@berth/domain/accounts/password/Password"
import { maximumDisplayNameLength } from "@berth/domain/accounts/profile/DisplayName"
import type { OAuthProviderName } from "@berth/domain/signin/oauth/OAuthProvider"
import { renderOutcome, renderStatusLine, renderWithScript } from "./Layout.ts"
import { type Html, html } from "./Html.ts"

export interface LoginPage {
  /** Redirect target after the sign-in: a path of this service. */
  readonly callbackUrl: string
  readonly error: string | null
  readonly notice: string | null
  /** Named in wallet messages. */
  readonly appUrl: URL
  /** The configured ones. */
  readonly providers: ReadonlyArray<OAuthProviderName>
}

const providerLabels: Readonly<Record<OAuthProviderName, string>> = {
  oauthA: "Continue with OpenID Connect",
  oauthB: "Continue with OAuth 2"
}

const credentials = (callbackUrl: string): Html => html`
  <form
    class="stack"
    id="sign-in"
    method="post"
    action="/api/auth/callback/credentials?${makeCallbackQuery(callbackUrl)}"
  >
    <input type="hidden" name="callbackUrl" value="${callbackUrl}" />
    <label>E-mail <input name="email" type="email" autocomplete="username" required /></label>
    <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
    <button class="primary">Sign in</button>
  </form>
`

export const makeCallbackQuery = (callbackUrl: string): string => new URLSearchParams({ callbackUrl }).toString()

const otherSignInMethods = ({ appUrl, callbackUrl, providers }: LoginPage): Html => html`
  <section aria-labelledby="other-ways">
    <h2 id="other-ways">Other ways in</h2>
    <ul class="choices">
      ${providers.map(
        (name) =>
          html`<li>
            <a class="button" href="/api/auth/${name}?${makeCallbackQuery(callbackUrl)}">${providerLabels[name]}</a>
          </li>`
      )}
    </ul>
    ${renderWithScript(
      "Signing in with a wallet",
      html`<div
          id="wallets"
          data-domain="${appUrl.host}"
          data-uri="${appUrl.origin}"
          data-callback-url="${callbackUrl}"
        >
          <ul class="choices"></ul>
          <p class="muted">No wallet was found in this browser.</p>
        </div>
        ${renderStatusLine("wallet-status")}`
    )}
  </section>
`

const registration = html`
  <details id="register">
    <summary>Make an account</summary>
    ${renderWithScript(
      "Making an account",
      html`<form class="stack" id="register-form">
          <label>E-mail <input name="email" type="email" autocomplete="email" required /></label>
          <label
            >Name (optional) <input name="name" autocomplete="name" maxlength="${maximumDisplayNameLength}"
          /></label>
          <label>
            Password, at least ${minimumPasswordLength} characters
            <input
              name="password"
              type="password"
              autocomplete="new-password"
              minlength="${minimumPasswordLength}"
              required
            />
          </label>
          <label>
            Referral code (optional)
            <input name="referralCode" autocomplete="off" maxlength="20" pattern="[A-Za-z0-9\\-]*" />
          </label>
          <button class="primary">Make the account and sign in</button>
        </form>
        ${renderStatusLine("register-status")}`
    )}
  </details>
`

const passwordResetForm = html`
  <details id="forgotten">
    <summary>Forgot the password?</summary>
    ${renderWithScript(
      "Resetting a password",
      html`<form class="stack" id="forgot-form">
          <label>E-mail of the account <input name="email" type="email" autocomplete="email" required /></label>
          <button>Send a link</button>
        </form>
        ${renderStatusLine("forgot-status")}`
    )}
  </details>
`

/** `/login`: sign-in, registration and forgotten password. */
export const renderLoginPage = (page: LoginPage): Html => html`
  <div class="narrow">
    <h1>Sign in</h1>
    ${renderOutcome(page)} ${credentials(page.callbackUrl)} ${passwordResetForm} ${registration}
    ${otherSignInMethods(page)}
  </div>
`
