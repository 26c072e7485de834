import { walletNonceLifetime } from "@berth/domain/signin/WalletNonces"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Option, Redacted } from "effect"
import { cookieName } from "../sessions/SessionCookie.ts"

/** How the ticket of a nonce travels in the browser that it was given to. */
export const walletNonceCookie = (appUrl: URL) => {
  const name = cookieName("berth_wallet_nonce", appUrl)
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
        maxAge: walletNonceLifetime
      }),
    clear: (response: HttpServerResponse.HttpServerResponse) =>
      HttpServerResponse.unsafeSetCookie(response, name, "", { ...attributes, maxAge: 0 })
  }
}
