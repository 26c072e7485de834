import { minimumPasswordLength } from "@berth/domain/accounts/password/Password"
import { maximumDisplayNameLength } from "@berth/domain/accounts/profile/DisplayName"
import { Option } from "effect"
import { type FormState, renderField } from "./FormFields.ts"
import { type Content, type Html, html } from "./Html.ts"
import { renderStatusLine } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"
import { renderOtherMethods, type SignInMethods } from "./SignInSections.ts"

interface SignupPage extends SignInMethods {
  /** Address of the sign-in page with the same redirect target. */
  readonly loginUrl: string
  readonly administratorHint: Option.Option<string>
  readonly state: FormState
}

const administratorNotice = (email: string): Html => html`
  <p class="notice">
    <strong>Development:</strong> any email address works. The account with the address <code>${email}</code> is the
    administrator, who needs no plan.
  </p>
`

const form = (callbackUrl: string, state: FormState): Html => {
  const field = (name: string, label: Content, attributes: Html) =>
    renderField(state, { form: "register-form", name, label, attributes })
  const { problems, values } = state
  const hasCode = problems.has("referralCode") || (values["referralCode"] ?? "") !== ""
  return html`
    <form class="stack" id="register-form" method="post" action="${pagePaths.signup}">
      <input type="hidden" name="callbackUrl" value="${callbackUrl}" />
      ${field("email", "Email", html`type="email" autocomplete="username" required`)}
      ${field(
        "password",
        `Password, at least ${minimumPasswordLength} characters`,
        html`type="password" autocomplete="new-password" minlength="${minimumPasswordLength}" required`
      )}
      ${field("name", "Name (optional)", html`autocomplete="name" maxlength="${maximumDisplayNameLength}"`)}
      <details ${hasCode && html`open`}>
        <summary>Referral code</summary>
        ${field(
          "referralCode",
          "Referral code (optional)",
          html`autocomplete="off" maxlength="20" pattern="[A-Za-z0-9\\-]*"`
        )}
      </details>
      <button class="primary">Create account</button>
    </form>
    ${renderStatusLine("register-status")}
  `
}

/** `/signup`: registration, followed by a sign-in. */
export const renderSignupPage = (page: SignupPage): Html => html`
  <div class="narrow">
    <h1>Create an account</h1>
    ${Option.getOrNull(Option.map(page.administratorHint, administratorNotice))} ${form(page.callbackUrl, page.state)}
    <p>Already have an account? <a href="${page.loginUrl}">Sign in</a></p>
    ${renderOtherMethods(page)}
  </div>
`
