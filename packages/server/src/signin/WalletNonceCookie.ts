import { walletNonceLifetime } from "@berth/domain/signin/WalletNonces"
import { type SecretCookie, secretCookie } from "../http/SecretCookie.ts"

/** How the ticket of a nonce travels in the browser that it was given to. */
export const walletNonceCookie = (appUrl: URL): SecretCookie =>
  secretCookie("berth_wallet_nonce", walletNonceLifetime, appUrl)
