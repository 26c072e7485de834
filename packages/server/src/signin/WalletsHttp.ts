import { WebApi } from "@berth/api/WebApi"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { normalizeClientAddress } from "@berth/domain/limits/RateLimiter"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { WalletLinking } from "@berth/domain/signin/wallets/WalletLinking"
import { WalletNonces } from "@berth/domain/signin/wallets/WalletNonces"
import { WalletSignIn } from "@berth/domain/signin/wallets/WalletSignIn"
import { HttpApiBuilder, HttpServerResponse, type HttpServerRequest } from "@effect/platform"
import { Effect } from "effect"
import { currentClientAddress } from "../http/ClientAddress.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { SessionCookie } from "../sessions/SessionCookie.ts"
import { resolveCallbackPath } from "./CallbackPath.ts"
import { makeWalletNonceCookie } from "./WalletNonceCookie.ts"

/** What is not one text proves nothing, like an empty one. */
const textOf = (value: unknown) => (typeof value === "string" ? value : "")

export const layer = HttpApiBuilder.group(WebApi, "wallets", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* WalletSignIn
    const linking = yield* WalletLinking
    const wallets = yield* Wallets
    const nonces = yield* WalletNonces
    const session = yield* SessionCookie
    const settings = yield* WebSettings
    const cookie = makeWalletNonceCookie(settings.appUrl)

    const limitKey = Effect.map(
      Effect.provideService(currentClientAddress, WebSettings, settings),
      normalizeClientAddress
    )
    /** A proof as a request carries it. Only pages send an `Origin`. */
    const proofIn = (
      request: HttpServerRequest.HttpServerRequest,
      { message, signature }: { readonly message?: unknown; readonly signature?: unknown }
    ) => ({
      message: textOf(message),
      signature: textOf(signature),
      isFromPage: request.headers["origin"] !== undefined,
      ticket: cookie.read(request)
    })

    return handlers
      .handle("nonce", () =>
        Effect.map(nonces.issue(), ({ nonce, ticket }) =>
          cookie.set(HttpServerResponse.unsafeJson({ nonce }, { headers: { "cache-control": "no-store" } }), ticket)
        )
      )
      .handle("walletSignIn", ({ payload, request }) =>
        Effect.gen(function* () {
          const { token } = yield* signIn.signIn({
            ...proofIn(request, payload),
            from: yield* limitKey,
            current: session.read(request)
          })
          const url = resolveCallbackPath(payload.callbackUrl, settings.appUrl)
          return cookie.clear(session.set(HttpServerResponse.redirect(url, { status: 302 }), token))
        })
      )
      .handle("wallets", () =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          const linked = yield* wallets.listByUser(user.id)
          return { wallets: linked.map(({ address, linkedAt }) => ({ address, linkedAt })) }
        })
      )
      .handle("linkWallet", ({ payload, request }) =>
        Effect.gen(function* () {
          const { sessionId, user } = yield* CurrentUser
          const { address, linkedAt } = yield* linking.link({
            ...proofIn(request, payload),
            from: yield* limitKey,
            userId: user.id,
            sessionId
          })
          return { address, linkedAt }
        })
      )
      .handle("unlinkWallet", ({ urlParams: { address } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          yield* wallets.unlink(user.id, address)
          return { success: true }
        })
      )
  })
)
