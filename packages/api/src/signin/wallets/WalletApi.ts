import { isWalletAddress, WalletAddress } from "@berth/domain/chain/WalletAddress"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { UserNotFoundBody } from "../../accounts/AccountErrorBodies.ts"
import { AccountSuspendedBody } from "../SignInApi.ts"
import { optionalText, payload } from "../../http/Payload.ts"
import { Timestamp } from "../../http/Timestamp.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { SignInLimit, RateLimitExceededBody } from "../../limits/RateLimits.ts"
import { AuthenticationRequiredBody, RecentSignInRequiredBody, SessionAuth } from "../../sessions/SessionAuth.ts"
import {
  ChainUnreachableBody,
  WalletLimitReachedBody,
  LastAccessMethodRequiredBody,
  WalletAlreadyLinkedBody,
  WalletEmailInUseBody,
  WalletNotFoundBody,
  WalletProofRejectedBody,
  WalletSignInRejectedBody
} from "./WalletErrorBodies.ts"

/** Issues a nonce for a SIWE message, bound to the browser by a cookie for ten minutes. */
const nonce = HttpApiEndpoint.get("nonce", "/api/auth/nonce")
  .addSuccess(
    Schema.Struct({
      nonce: Schema.String.annotations({ description: "Letters and digits, for the message's Nonce line" })
    }).annotations({ identifier: "WalletNonce" })
  )
  .annotate(OpenApi.Summary, "Create a nonce for a wallet message")

// Accepts any type, so that every fault of a proof is the same 401.
const proofFields = {
  message: Schema.optional(
    Schema.Unknown.annotations({ description: "The whole EIP-4361 message", jsonSchema: { type: "string" } })
  ),
  signature: Schema.optional(
    Schema.Unknown.annotations({ description: "0x and hex digits", jsonSchema: { type: "string" } })
  )
}
const formText = Schema.optional(Schema.String)

/** Redirects to the callback URL and sets the session cookie. */
const walletSignIn = HttpApiEndpoint.post("walletSignIn", "/api/auth/callback/wallet")
  .setPayload(
    Schema.Union(
      payload({ ...proofFields, callbackUrl: optionalText }),
      payload({ message: formText, signature: formText, callbackUrl: formText }).pipe(
        HttpApiSchema.withEncoding({ kind: "UrlParams", contentType: "application/x-www-form-urlencoded" })
      )
    )
  )
  .addSuccess(Schema.Void, { status: 302 })
  .addError(WalletSignInRejectedBody)
  .addError(AccountSuspendedBody)
  .addError(ChainUnreachableBody)
  .addError(RateLimitExceededBody)
  .middleware(SignInLimit)
  .annotate(OpenApi.Summary, "Sign in with a signed wallet message")

const LinkedWallet = Schema.Struct({ address: WalletAddress, linkedAt: Timestamp }).annotations({
  identifier: "LinkedWallet"
})

const wallets = HttpApiEndpoint.get("wallets", "/api/settings/wallets")
  .addSuccess(Schema.Struct({ wallets: Schema.Array(LinkedWallet) }))
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "List linked wallets")

/** Links the wallet that signed the message. Requires a recent sign-in. */
const linkWallet = HttpApiEndpoint.post("linkWallet", "/api/settings/wallets")
  .setPayload(payload({ message: Schema.String, signature: Schema.String }))
  .addSuccess(LinkedWallet)
  .addError(RecentSignInRequiredBody)
  .addError(WalletProofRejectedBody)
  .addError(AuthenticationRequiredBody)
  .addError(WalletAlreadyLinkedBody)
  .addError(WalletLimitReachedBody)
  .addError(ChainUnreachableBody)
  .addError(RateLimitExceededBody)
  .middleware(SessionAuth)
  .middleware(SignInLimit)
  .annotate(OpenApi.Summary, "Link a wallet with a signed message")

const address = WalletAddress.pipe(Schema.filter(isWalletAddress, { message: () => "must be 0x and 40 hex digits" }))

/** Unlinks the wallet. Requires a recent sign-in. */
const unlinkWallet = HttpApiEndpoint.del("unlinkWallet", "/api/settings/wallets")
  .setUrlParams(payload({ address }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(AuthenticationRequiredBody)
  .addError(RecentSignInRequiredBody)
  .addError(WalletNotFoundBody)
  .addError(LastAccessMethodRequiredBody)
  .addError(WalletEmailInUseBody)
  .addError(UserNotFoundBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Unlink a wallet")

export class WalletApi extends HttpApiGroup.make("wallets")
  .add(nonce)
  .add(walletSignIn)
  .add(wallets)
  .add(linkWallet)
  .add(unlinkWallet)
  .addError(InternalFailureBody) {}
