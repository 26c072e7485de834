import { instanceSessionLifetime } from "@berth/domain/instances/InstanceSignIn"
import { sessionLifetime } from "@berth/domain/sessions/Session"
import type { OAuthProviderName } from "@berth/domain/signin/oauth/OAuthProvider"
import { oauthTicketLifetime } from "@berth/domain/signin/oauth/OAuthTickets"
import { walletNonceLifetime } from "@berth/domain/signin/wallets/WalletNonces"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Context, Duration, Effect, Layer, Option, Redacted } from "effect"
import { WebSettings } from "./WebSettings.ts"

/** HttpOnly, SameSite=Lax cookie with a secret of the service. */
export interface SecretCookie {
  readonly name: string
  /** None for an empty value too, which some clients keep after a cookie is cleared. */
  readonly read: (request: HttpServerRequest.HttpServerRequest) => Option.Option<Redacted.Redacted>
  readonly set: (
    response: HttpServerResponse.HttpServerResponse,
    value: Redacted.Redacted
  ) => HttpServerResponse.HttpServerResponse
  readonly clear: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
}

/**
 * `__Host-` prefix on https; on http the name contains the port, so that two installations on a host do not conflict.
 */
const makeCookieName = (name: string, appUrl: URL): string =>
  appUrl.protocol === "https:" ? `__Host-${name}` : `${name}${appUrl.port === "" ? "" : `_${appUrl.port}`}`

const makeSecretCookie = (name: string, lifetime: Duration.Duration, appUrl: URL): SecretCookie => {
  const fullName = makeCookieName(name, appUrl)
  const attributes = { httpOnly: true, sameSite: "lax", path: "/", secure: appUrl.protocol === "https:" } as const
  return {
    name: fullName,
    read: ({ cookies }) =>
      Option.map(
        Option.filter(Option.fromNullable(cookies[fullName]), (value) => value !== ""),
        Redacted.make
      ),
    set: (response, value) =>
      HttpServerResponse.unsafeSetCookie(response, fullName, Redacted.value(value), {
        ...attributes,
        maxAge: lifetime
      }),
    clear: (response) => HttpServerResponse.unsafeSetCookie(response, fullName, "", { ...attributes, maxAge: 0 })
  }
}

const sessionCookieName = "berth_session"

export const makeSessionCookieName = (appUrl: URL): string => makeCookieName(sessionCookieName, appUrl)

/** Contains the session token. */
export class SessionCookie extends Context.Tag("@berth/SessionCookie")<SessionCookie, SecretCookie>() {}

export const sessionCookieLayer = Layer.effect(
  SessionCookie,
  Effect.map(WebSettings, ({ appUrl }) => makeSecretCookie(sessionCookieName, sessionLifetime, appUrl))
)

/**
 * Contains the sealed ticket of an OAuth sign-in. Lax, since the callback is a top-level navigation from the provider's
 * site.
 */
export const makeOAuthTicketCookie = (provider: OAuthProviderName, appUrl: URL): SecretCookie =>
  makeSecretCookie(`berth_${provider.toLowerCase()}`, oauthTicketLifetime, appUrl)

/** Contains the ticket of a wallet nonce. */
export const makeWalletNonceCookie = (appUrl: URL): SecretCookie =>
  makeSecretCookie("berth_wallet_nonce", walletNonceLifetime, appUrl)

/** Contains the sealed session at an instance's subdomain; host-only, like every cookie of the service. */
export const makeInstanceCookie = (appUrl: URL): SecretCookie =>
  makeSecretCookie("berth_instance", instanceSessionLifetime, appUrl)

/** Contains the secret of a browser that waits for a ticket. */
export const makeTicketCookie = (appUrl: URL): SecretCookie =>
  makeSecretCookie("berth_instance_ticket", Duration.minutes(30), appUrl)
