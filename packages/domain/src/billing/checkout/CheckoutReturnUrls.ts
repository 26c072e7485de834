export interface CheckoutReturnUrls {
  readonly successUrl: URL
  readonly cancelUrl: URL
}

export const makeCheckoutReturnUrls = (appUrl: URL) => {
  const at = (path: string) => new URL(path, appUrl)
  const cancelUrl = at("/pricing?error=canceled")
  return {
    plan: { successUrl: at("/onboarding?checkout=done"), cancelUrl },
    credits: { successUrl: at("/dashboard?notice=credits_purchased"), cancelUrl },
    storage: {
      successUrl: at("/dashboard/files?checkout=done"),
      cancelUrl: at("/dashboard/files?error=canceled")
    }
  } satisfies Record<string, CheckoutReturnUrls>
}
