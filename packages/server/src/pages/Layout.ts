import { HttpServerResponse } from "@effect/platform"
import type { Currency } from "@berth/domain/shared/Money"
import type { PlanId } from "@berth/domain/shared/PlanId"
import { Context, type Option } from "effect"
import { findNotice, findSignInError } from "./StatusMessages.ts"
import { type Content, type Html, html } from "./Html.ts"
import type { AssetName, PageAssets } from "./PageAssets.ts"

/** Pages load from this service only; wallet icons are data URLs. Only styles with the nonce are inline. */
export const makeContentSecurityPolicy = (styleNonce?: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    styleNonce === undefined ? "style-src 'self'" : `style-src 'self' 'nonce-${styleNonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'"
  ].join("; ")

/** Pages show private data, so no cache stores them. */
const pageHeaders = {
  "content-security-policy": makeContentSecurityPolicy(),
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin-allow-popups"
}

export class PageSettings extends Context.Tag("@berth/PageSettings")<
  PageSettings,
  {
    /** Contact for plans without card payment. */
    readonly salesEmail: string
    /** In development: an administrator's address, shown on the sign-up page. */
    readonly administratorHint: Option.Option<string>
    /** In development without a mail server: the log contains the links of mails. */
    readonly logsMailLinks: boolean
    /** In development without a provider key: the sandbox replies. */
    readonly repliesFromSandbox: boolean
  }
>() {}

export type Assets = Context.Tag.Service<PageAssets>

interface PageContent {
  readonly title: string
  readonly main: Html
  readonly script?: AssetName
  /** Whether the URL contains a token; the page then has no script. */
  readonly hasToken?: boolean
  /** Undefined if unknown. */
  readonly isSignedIn: boolean | undefined
  /** Path of the current link. */
  readonly path?: string
  /** Address of the web API; set on pages of an instance's subdomain. */
  readonly appUrl?: URL | undefined
}

const signedInLinks = [
  ["/dashboard", "Dashboard"],
  ["/dashboard/files", "Files"],
  ["/pricing", "Pricing"],
  ["/docs", "API"]
] as const
const publicLinks = [
  ["/pricing", "Pricing"],
  ["/docs", "API"]
] as const
const signedOutLinks = [...publicLinks, ["/login", "Sign in"]] as const

const link = (here: string | undefined, [path, name]: readonly [string, string]): Html =>
  html`<li><a href="${path}" ${path === here && html`aria-current="page"`}>${name}</a></li>`

// A form, so that it works without a script.
export const renderSignOutForm = html`<form method="post" action="/api/auth/signout">
  <button class="link">Sign out</button>
</form>`

const navigation = (isSignedIn: boolean | undefined, path: string | undefined): Html => html`
  <nav aria-label="Main">
    <ul>
      ${(isSignedIn === undefined ? publicLinks : isSignedIn ? signedInLinks : signedOutLinks).map((it) => link(path, it))}
      ${isSignedIn === true && html`<li>${renderSignOutForm}</li>`}
    </ul>
  </nav>
`

const footer = html`
  <footer class="bottom">
    <p>Berth hosts AI agents.</p>
    <nav aria-label="More">
      <ul>
        <li><a href="/pricing#enterprise">Enterprise</a></li>
        <li><a href="/docs">API reference</a></li>
      </ul>
    </nav>
  </footer>
`

const document = (
  assets: Assets,
  { appUrl, hasToken = false, isSignedIn, main, path, script, title }: PageContent
): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} &middot; Berth</title>
        <link rel="icon" href="data:," />
        ${appUrl === undefined && !hasToken && html`<script src="${assets.address("scheme.js")}"></script>`}
        <link rel="stylesheet" href="${assets.address("style.css")}" />
        ${script !== undefined && html`<script type="module" src="${assets.address(script)}"></script>`}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="top">
          <a class="brand" href="${appUrl === undefined ? "/" : appUrl.href}">Berth</a>
          ${appUrl === undefined && navigation(isSignedIn, path)}
        </header>
        <main id="main" tabindex="-1">${main}</main>
        ${appUrl === undefined && footer}
      </body>
    </html> `

const currencySymbols: Readonly<Record<Currency, string>> = { GBP: "£", USD: "$" }

export const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

export const formatPlan = (plan: PlanId): string => capitalize(plan)

/** Formats a price in major units. */
export const formatPrice = (price: number, currency: Currency): string =>
  `${currencySymbols[currency]}${price.toLocaleString("en")}`

const mebibytesPerGibibyte = 1024

/** Formats a size as `512 MiB` or `2 GiB`. */
export const formatMebibytes = (mebibytes: number): string =>
  mebibytes < mebibytesPerGibibyte
    ? `${mebibytes} MiB`
    : `${(mebibytes / mebibytesPerGibibyte).toLocaleString("en")} GiB`

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

/** Announced by screen readers on page load. */
export const renderAlert = (content: Content): Html => html`<p class="alert" role="alert">${content}</p>`

/** Renders the messages of the `error` and `notice` codes in the URL. */
export const renderOutcome = (codes: { readonly error: string | null; readonly notice: string | null }): Html => {
  const [wrong, done] = [findSignInError(codes.error), findNotice(codes.notice)]
  return html`${wrong !== undefined && renderAlert(wrong)}
  ${done !== undefined && html`<p class="notice" role="status">${done}</p>`}`
}

/** Renders the status of an action, set by a script and announced by screen readers. */
export const renderStatusLine = (id: string): Html => html`<p class="status" id="${id}" role="status" hidden></p>`

/** Hidden until the script runs; without scripts a note appears. */
export const renderWithScript = (action: string, content: Html): Html => html`
  <div data-needs-script hidden>${content}</div>
  <noscript
    ><p class="muted">${action} needs JavaScript. The <a href="/docs">API</a> offers the same.</p></noscript
  >
`

/**
 * Opens another origin by the header `Refresh`, or by the link. A redirect would be blocked by the `form-action` policy
 * of the submitted form.
 */
export const makeOpeningResponse = (assets: Assets, what: string, { href }: URL) =>
  makePageResponse(
    assets,
    {
      title: `Opening ${what}`,
      main: html`
        <h1>Opening ${what}</h1>
        <p><a href="${href}">Continue to ${what}</a></p>
      `,
      isSignedIn: true
    },
    { headers: { refresh: `0;url=${href}` } }
  )
