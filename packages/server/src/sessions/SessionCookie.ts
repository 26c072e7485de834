import { sessionLifetime } from "@berth/domain/sessions/Session"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { WebSettings } from "../http/WebSettings.ts"

/** `__Host-` on https; on http the port is in the name, so that two instances on one host keep apart. */
export const cookieName = (name: string, appUrl: URL): string =>
  appUrl.protocol === "https:" ? `__Host-${name}` : `${name}${appUrl.port === "" ? "" : `_${appUrl.port}`}`

export const sessionCookieName = (appUrl: URL): string => cookieName("berth_session", appUrl)

/** How the session token travels in a browser. */
export class SessionCookie extends Context.Tag("@berth/SessionCookie")<
  SessionCookie,
  {
    readonly name: string
    readonly read: (request: HttpServerRequest.HttpServerRequest) => Option.Option<Redacted.Redacted>
    readonly set: (
      response: HttpServerResponse.HttpServerResponse,
      token: Redacted.Redacted
    ) => HttpServerResponse.HttpServerResponse
    readonly clear: (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
  }
>() {}

export const layer = Layer.effect(
  SessionCookie,
  Effect.map(WebSettings, ({ appUrl }) => {
    const name = sessionCookieName(appUrl)
    const attributes = {
      httpOnly: true,
      sameSite: "lax",
      path: "/",
      secure: appUrl.protocol === "https:"
    } as const
    return SessionCookie.of({
      name,
      read: (request) =>
        Option.filter(Option.fromNullable(request.cookies[name]), (token) => token !== "").pipe(
          Option.map(Redacted.make)
        ),
      set: (response, token) =>
        HttpServerResponse.unsafeSetCookie(response, name, Redacted.value(token), {
          ...attributes,
          maxAge: sessionLifetime
        }),
      clear: (response) => HttpServerResponse.unsafeSetCookie(response, name, "", { ...attributes, maxAge: 0 })
    })
  })
)
