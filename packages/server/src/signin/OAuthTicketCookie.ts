import type { OAuthProviderName } from "@berth/domain/signin/OAuthProvider"
import { oauthTicketLifetime } from "@berth/domain/signin/OAuthTickets"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Option, Redacted } from "effect"
import { cookieName } from "../sessions/SessionCookie.ts"

/** How the ticket of a sign-in travels in the browser that began it: back with a link from elsewhere, which is what a provider's answer is. */
export const oauthTicketCookie = (provider: OAuthProviderName, appUrl: URL) => {
  const name = cookieName(`berth_${provider.toLowerCase()}`, appUrl)
  const attributes = {
    httpOnly: true,
    sameSite: "lax",
    path: "/",
    secure: appUrl.protocol === "https:"
  } as const
  return {
    read: (request: HttpServerRequest.HttpServerRequest): Option.Option<Redacted.Redacted> =>
      Option.map(
        Option.filter(Option.fromNullable(request.cookies[name]), (ticket) => ticket !== ""),
        Redacted.make
      ),
    set: (response: HttpServerResponse.HttpServerResponse, ticket: Redacted.Redacted) =>
      HttpServerResponse.unsafeSetCookie(response, name, Redacted.value(ticket), {
        ...attributes,
        maxAge: oauthTicketLifetime
      }),
    clear: (response: HttpServerResponse.HttpServerResponse) =>
      HttpServerResponse.unsafeSetCookie(response, name, "", { ...attributes, maxAge: 0 })
  }
}
