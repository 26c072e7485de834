import { WebApi } from "@berth/api/WebApi"
import { Wallets } from "@berth/domain/signin/wallets/Wallets"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { WalletLinking } from "@berth/domain/signin/wallets/WalletLinking"
import { WalletNonces } from "@berth/domain/signin/wallets/WalletNonces"
import { WalletSignIn } from "@berth/domain/signin/wallets/WalletSignIn"
import { HttpServerResponse, type HttpServerRequest } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter, privately, redirectPrivately } from "../http/ResponseHeaders.ts"
import { makeWalletNonceCookie, SessionCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { resolveCallbackPath } from "./CallbackPath.ts"

const readText = (value: unknown) => (typeof value === "string" ? value : "")

export const layer = group(WebApi, "wallets", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* WalletSignIn
    const linking = yield* WalletLinking
    const wallets = yield* Wallets
    const nonces = yield* WalletNonces
    const session = yield* SessionCookie
    const { appUrl } = yield* WebSettings
    const cookie = makeWalletNonceCookie(appUrl)

    /** Only pages send an `Origin`. */
    const readProof = (
      request: HttpServerRequest.HttpServerRequest,
      { message, signature }: { readonly message?: unknown; readonly signature?: unknown }
    ) => ({
      message: readText(message),
      signature: readText(signature),
      isFromPage: request.headers["origin"] !== undefined,
      ticket: cookie.read(request)
    })

    return handlers
      .handle("nonce", () =>
        Effect.map(nonces.issue(), ({ nonce, ticket }) =>
          cookie.set(HttpServerResponse.unsafeJson({ nonce }, { headers: privately }), ticket)
        )
      )
      .handle("walletSignIn", ({ payload, request }) =>
        Effect.gen(function* () {
          const { token } = yield* signIn
            .signIn({
              ...readProof(request, payload),
              from: yield* currentAddressKey,
              current: session.read(request)
            })
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
          const url = resolveCallbackPath(payload.callbackUrl, appUrl)
          return cookie.clear(session.set(redirectPrivately(url), token))
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
          const { address, linkedAt } = yield* linking.link(yield* CurrentUser, {
            ...readProof(request, payload),
            from: yield* currentAddressKey
          })
          return { address, linkedAt }
        })
      )
      .handle("unlinkWallet", ({ urlParams: { address } }) =>
        Effect.gen(function* () {
          yield* linking.unlink(yield* CurrentUser, address)
          return { success: true }
        })
      )
  })
)
