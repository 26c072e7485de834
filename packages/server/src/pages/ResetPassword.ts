import { minimumResetPasswordLength } from "@berth/domain/accounts/PasswordResets"
import { html, type Html } from "./Html.ts"

export interface ResetPasswordForm {
  /** As it stands in the link; empty when there is none. */
  readonly token: string
  /** What was wrong with the last try. */
  readonly problem?: string
}

/** The only style there is; the policy of the page names its hash. */
export const resetPasswordStyle =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:24rem;margin:4rem auto;padding:0 1rem}" +
  "label,input,button{display:block;width:100%;box-sizing:border-box;font:inherit}" +
  "input,button{padding:.5rem;margin:.25rem 0 1rem}[role=alert]{color:#a00}"

const page = (content: Html) =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Choose a new password – Berth</title>
        <style>
          ${{ html: resetPasswordStyle }}
        </style>
      </head>
      <body>
        <main>
          <h1>Choose a new password</h1>
          ${content}
        </main>
      </body>
    </html> `

const alert = (problem: string | undefined): Html =>
  problem === undefined ? html`` : html`<p role="alert" id="problem">${problem}</p>`

/** The page behind a mailed link: a plain form, so that it needs no script. */
export const resetPasswordPage = ({ problem, token }: ResetPasswordForm): string => {
  const content =
    token === ""
      ? html`${alert(problem)}
          <p>This page is opened by the link in a mail. The link is not complete, or too old: ask for a new one.</p>
          <p><a href="/login">Sign in</a></p>`
      : html`${alert(problem)}
          <form method="post" action="/reset-password">
            <input type="hidden" name="token" value="${token}" />
            <label for="password">New password</label>
            <input
              id="password"
              name="password"
              type="password"
              autocomplete="new-password"
              minlength="${String(minimumResetPasswordLength)}"
              required
              autofocus${problem === undefined ? "" : html` aria-describedby="problem"`}
            />
            <button>Set password</button>
          </form>`
  return page(content).html
}
