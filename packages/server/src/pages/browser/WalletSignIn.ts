import { requestSuccess } from "./Api.ts"
import { startWalletButtons } from "./Wallet.ts"

/** Adds the wallet buttons of the sign-in and sign-up pages. */
export const startWalletSignIn = (): void =>
  startWalletButtons({ verb: "Continue with", statement: "Sign in to Berth." }, async (proof, place) => {
    const callbackUrl = place.dataset["callbackUrl"] ?? "/dashboard"
    await requestSuccess("POST", "/api/auth/callback/wallet", { ...proof, callbackUrl })
    location.assign(callbackUrl)
  })
