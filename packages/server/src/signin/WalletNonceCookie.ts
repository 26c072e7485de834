import { walletNonceLifetime } from "@berth/domain/signin/wallets/WalletNonces"
import { type SecretCookie, makeSecretCookie } from "../http/SecretCookie.ts"

/** How the ticket of a nonce travels in the browser that it was given to. */
export const makeWalletNonceCookie = (appUrl: URL): SecretCookie =>
  makeSecretCookie("berth_wallet_nonce", walletNonceLifetime, appUrl)
