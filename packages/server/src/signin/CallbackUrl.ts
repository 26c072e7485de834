const defaultCallback = "/dashboard"

/** Where a sign-in leads: a path on this service, or the default. A URL of any other origin is not followed. */
export const callbackPath = (asked: string | undefined, appUrl: URL): string => {
  if (asked === undefined || asked === "" || !URL.canParse(asked, appUrl.origin)) return defaultCallback
  const url = new URL(asked, appUrl.origin)
  return url.origin === appUrl.origin ? `${url.pathname}${url.search}${url.hash}` : defaultCallback
}
