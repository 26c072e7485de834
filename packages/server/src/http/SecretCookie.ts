import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { type Duration, Option, Redacted } from "effect"

/** How something that only the service may read travels in a browser: no script sees it, and no other site's requests bring it. */
export interface SecretCookie {
  readonly name: string
  /** None also when it is empty, which is what a browser keeps of one that was cleared. */
  readonly read: (request: HttpServerRequest.HttpServerRequest) => Option.Option<Redacted.Redacted>
  readonly set: (
    response: HttpServerResponse.HttpServerResponse,
    value: Redacted.Redacted
  ) => HttpServerResponse.HttpServerResponse
  readonly clear: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
}

/** `__Host-` on https; on http the port is in the name, so that two instances on one host keep apart. */
export const makeCookieName = (name: string, appUrl: URL): string =>
  appUrl.protocol === "https:" ? `__Host-${name}` : `${name}${appUrl.port === "" ? "" : `_${appUrl.port}`}`

export const makeSecretCookie = (name: string, lifetime: Duration.Duration, appUrl: URL): SecretCookie => {
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
