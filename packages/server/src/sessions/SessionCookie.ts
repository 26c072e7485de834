import { sessionLifetime } from "@berth/domain/sessions/Session"
import { Context, Effect, Layer } from "effect"
import { makeCookieName, type SecretCookie, makeSecretCookie } from "../http/SecretCookie.ts"
import { WebSettings } from "../http/WebSettings.ts"

const name = "berth_session"

export const makeSessionCookieName = (appUrl: URL): string => makeCookieName(name, appUrl)

/** How the session token travels in a browser. */
export class SessionCookie extends Context.Tag("@berth/SessionCookie")<SessionCookie, SecretCookie>() {}

export const layer = Layer.effect(
  SessionCookie,
  Effect.map(WebSettings, ({ appUrl }) => makeSecretCookie(name, sessionLifetime, appUrl))
)
