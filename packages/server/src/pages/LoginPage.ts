import { type Html, html } from "./Html.ts"
import { renderOutcome } from "./Layout.ts"
import { pagePaths } from "./PagePaths.ts"
import { makeCallbackQuery, renderOtherMethods, type SignInMethods } from "./SignInSections.ts"

interface LoginPage extends SignInMethods {
  readonly error: string | null
  readonly notice: string | null
  /** Address of the sign-up page with the same redirect target. */
  readonly signupUrl: string
}

const credentials = (callbackUrl: string): Html => html`
  <form
    class="stack"
    id="sign-in"
    method="post"
    action="/api/auth/callback/credentials?${makeCallbackQuery(callbackUrl)}"
  >
    <input type="hidden" name="callbackUrl" value="${callbackUrl}" />
    <label>Email <input name="email" type="email" autocomplete="username" required /></label>
    <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
    <button class="primary">Sign in</button>
  </form>
`

/** `/login`: sign-in. */
export const renderLoginPage = (page: LoginPage): Html => html`
  <div class="narrow">
    <h1>Sign in</h1>
    ${renderOutcome(page)} ${credentials(page.callbackUrl)}
    <p>New to Berth? <a href="${page.signupUrl}">Create an account</a></p>
    <p><a href="${pagePaths.forgotPassword}">Forgot your password?</a></p>
    ${renderOtherMethods(page)}
  </div>
`
