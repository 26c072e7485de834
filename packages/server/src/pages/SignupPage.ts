import { minimumPasswordLength } from "@berth/domain/accounts/password/Password"
import { maximumDisplayNameLength } from "@berth/domain/accounts/profile/DisplayName"
import { Option } from "effect"
import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"
import { renderOtherMethods, type SignInMethods } from "./SignInSections.ts"

export interface SignupPage extends SignInMethods {
  /** Address of the sign-in page with the same redirect target. */
  readonly loginUrl: string
  readonly administratorHint: Option.Option<string>
}

const administratorNotice = (email: string): Html => html`
  <p class="notice">
    <strong>Development:</strong> any email address works. The account with the address <code>${email}</code> is the
    administrator, who needs no plan.
  </p>
`

const form = (callbackUrl: string): Html =>
  renderWithScript(
    "Creating an account",
    html`<form class="stack" id="register-form" data-callback-url="${callbackUrl}">
        <label>Email <input name="email" type="email" autocomplete="username" required /></label>
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
        <label>Name (optional) <input name="name" autocomplete="name" maxlength="${maximumDisplayNameLength}" /></label>
        <details>
          <summary>Referral code</summary>
          <label>
            Referral code (optional)
            <input name="referralCode" autocomplete="off" maxlength="20" pattern="[A-Za-z0-9\\-]*" />
          </label>
        </details>
        <button class="primary">Create account</button>
      </form>
      ${renderStatusLine("register-status")}`
  )

/** `/signup`: registration, followed by a sign-in. */
export const renderSignupPage = (page: SignupPage): Html => html`
  <div class="narrow">
    <h1>Create an account</h1>
    ${Option.getOrNull(Option.map(page.administratorHint, administratorNotice))} ${form(page.callbackUrl)}
    <p>Already have an account? <a href="${page.loginUrl}">Sign in</a></p>
    ${renderOtherMethods(page)}
  </div>
`
