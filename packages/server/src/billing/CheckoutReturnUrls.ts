import type { CheckoutReturnUrls } from "@berth/domain/billing/checkout/Purchases"

const at = (appUrl: URL, path: string) => new URL(path, appUrl)

/** Where checkouts lead back to, by what is bought. */
export const makeCheckoutReturnUrls = (appUrl: URL) => {
  const canceled = at(appUrl, "/pricing?error=canceled")
  return {
    plan: { successUrl: at(appUrl, "/onboarding?checkout=done"), cancelUrl: canceled },
    credits: { successUrl: at(appUrl, "/dashboard?notice=credits_bought"), cancelUrl: canceled },
    storage: {
      successUrl: at(appUrl, "/dashboard/files?checkout=done"),
      cancelUrl: at(appUrl, "/dashboard/files?error=canceled")
    }
  } satisfies Record<string, CheckoutReturnUrls>
}
