import { sessionLifetime } from "@berth/domain/sessions/Session"
import { Context, Effect, Layer } from "effect"
import { cookieName, type SecretCookie, secretCookie } from "../http/SecretCookie.ts"
import { WebSettings } from "../http/WebSettings.ts"

const name = "berth_session"

export const sessionCookieName = (appUrl: URL): string => cookieName(name, appUrl)

/** How the session token travels in a browser. */
export class SessionCookie extends Context.Tag("@berth/SessionCookie")<SessionCookie, SecretCookie>() {}

export const layer = Layer.effect(
  SessionCookie,
  Effect.map(WebSettings, ({ appUrl }) => secretCookie(name, sessionLifetime, appUrl))
)
