import { OAuthProviderName, type OAuthProviders } from "@berth/domain/signin/oauth/OAuthProvider"
import { type Context, Option } from "effect"
import { type Html, html } from "./Html.ts"
import { renderStatusLine, renderWithScript } from "./Layout.ts"

export interface SignInMethods {
  /** Redirect target after the sign-in: a path of this service. */
  readonly callbackUrl: string
  /** Named in wallet messages. */
  readonly appUrl: URL
  /** Configured providers. */
  readonly providers: ReadonlyArray<OAuthProviderName>
}

const providerLabels: Readonly<Record<OAuthProviderName, string>> = {
  oauthA: "Continue with OpenID Connect",
  oauthB: "Continue with OAuth 2"
}

export const listProviders = (configured: Context.Tag.Service<OAuthProviders>): ReadonlyArray<OAuthProviderName> =>
  OAuthProviderName.literals.filter((name) => Option.isSome(configured[name]))

export const makeCallbackQuery = (callbackUrl: string): string => new URLSearchParams({ callbackUrl }).toString()

/** Providers and wallets, for sign-in and sign-up. Hidden without providers until the script finds a wallet. */
export const renderOtherMethods = ({ appUrl, callbackUrl, providers }: SignInMethods): Html => html`
  <section aria-labelledby="other-methods" ${providers.length === 0 && html`hidden`}>
    <h2 id="other-methods">Or continue with</h2>
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
        </div>
        ${renderStatusLine("wallet-status")}`
    )}
  </section>
`
