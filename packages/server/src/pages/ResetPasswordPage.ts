import { minimumResetPasswordLength } from "@berth/domain/accounts/password/Password"
import { type Html, html } from "./Html.ts"
import { renderAlert } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"

export interface ResetPasswordForm {
  /** Token from the link; empty if absent. */
  readonly token: string
  readonly problem?: string
}

const incomplete = html`
  <p>Open this page from the link in your mail. If the link does not work, request a new one.</p>
  <p><a href="${pagePaths.forgotPassword}">Request a new link</a></p>
`

const form = (token: string): Html => html`
  <form class="stack" method="post" action="/reset-password">
    <input type="hidden" name="token" value="${token}" />
    <label>
      New password, at least ${minimumResetPasswordLength} characters
      <input
        name="password"
        type="password"
        autocomplete="new-password"
        minlength="${minimumResetPasswordLength}"
        required
        autofocus
      />
    </label>
    <button class="primary">Set password</button>
  </form>
`

/** `/reset-password`: a plain form that needs no script. */
export const renderResetPasswordPage = ({ problem, token }: ResetPasswordForm): Html => html`
  <div class="narrow">
    <h1>Choose a new password</h1>
    ${problem !== undefined && renderAlert(problem)} ${token === "" ? incomplete : form(token)}
  </div>
`
