import { HttpServerResponse } from "@effect/platform"
import type { Context } from "effect"
import { findNotice, findSignInError } from "./StatusMessages.ts"
import { type Content, type Html, html } from "./Html.ts"
import type { AssetName, PageAssets } from "./PageAssets.ts"
import { pageHeaders } from "./PageHeaders.ts"

export type Assets = Context.Tag.Service<PageAssets>

export interface PageContent {
  readonly title: string
  readonly main: Html
  readonly script?: AssetName
  /** Whether the links of somebody who is signed in are shown, or the one to sign in. */
  readonly isSignedIn: boolean
  /** The path of the page, to mark it among the links. */
  readonly path?: string
}

const signedInLinks = [
  ["/dashboard", "Dashboard"],
  ["/dashboard/files", "Files"],
  ["/pricing", "Pricing"],
  ["/docs", "API"]
] as const
const signedOutLinks = [
  ["/pricing", "Pricing"],
  ["/docs", "API"],
  ["/login", "Sign in"]
] as const

const link = (here: string | undefined, [path, name]: readonly [string, string]): Html =>
  html`<li><a href="${path}" ${path === here && html`aria-current="page"`}>${name}</a></li>`

// A form, so that it works without a script as well.
const signOut = html`<li>
  <form method="post" action="/api/auth/signout"><button class="link">Sign out</button></form>
</li>`

const document = (assets: Assets, { isSignedIn, main, path, script, title }: PageContent): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Berth</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${assets.address("style.css")}" />
        ${script !== undefined && html`<script type="module" src="${assets.address(script)}"></script>`}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="/">Berth</a>
          <nav aria-label="Main">
            <ul>
              ${(isSignedIn ? signedInLinks : signedOutLinks).map((it) => link(path, it))} ${isSignedIn && signOut}
            </ul>
          </nav>
        </header>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html> `

/** A whole page as an answer. */
export const makePageResponse = (
  assets: Assets,
  content: PageContent,
  options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(document(assets, content).markup.trim(), {
    status: options.status ?? 200,
    contentType: "text/html; charset=utf-8",
    headers: { ...options.headers, ...pageHeaders }
  })

/** A sentence that is read out as soon as the page is there. */
export const renderAlert = (content: Content): Html => html`<p class="alert" role="alert">${content}</p>`

/** How it went on the way to a page, by the codes in its address. */
export const renderOutcome = (codes: { readonly error: string | null; readonly notice: string | null }): Html => {
  const [wrong, done] = [findSignInError(codes.error), findNotice(codes.notice)]
  return html`${wrong !== undefined && renderAlert(wrong)}
  ${done !== undefined && html`<p class="notice" role="status">${done}</p>`}`
}

/** What a script says of an action, next to what was done; it is read out when it changes. */
export const renderStatusLine = (id: string): Html => html`<p class="status" id="${id}" role="status" hidden></p>`

/** What needs a script is hidden until one is there. */
export const renderWithScript = (what: string, content: Html): Html => html`
  <div data-needs-script hidden>${content}</div>
  <noscript
    ><p class="muted">${what} needs JavaScript; the same is in the <a href="/docs">API</a>.</p></noscript
  >
`
