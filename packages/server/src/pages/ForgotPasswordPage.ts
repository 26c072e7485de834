import { renderField, type FormState } from "./FormFields.ts"
import { type Html, html } from "./Html.ts"
import { renderStatusLine } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"

/** `/forgot-password`: requests a password reset link. */
export const renderForgotPasswordPage = (state: FormState): Html => html`
  <div class="narrow">
    <h1>Reset your password</h1>
    <p>We mail you a link for a new password.</p>
    <form class="stack" id="forgot-form" method="post" action="${pagePaths.forgotPassword}">
      ${renderField(state, {
        form: "forgot-form",
        name: "email",
        label: "Account email",
        attributes: html`type="email" autocomplete="email" required`
      })}
      <button class="primary">Send reset link</button>
    </form>
    ${renderStatusLine("forgot-status")}
    <p><a href="${pagePaths.login}">Sign in</a></p>
  </div>
`
