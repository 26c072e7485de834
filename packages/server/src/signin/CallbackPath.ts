const defaultCallback = "/dashboard"

/** Where a sign-in leads: a path on this service, or the default. A URL of any other origin is not followed. */
export const resolveCallbackPath = (asked: string | undefined, appUrl: URL): string => {
  if (asked === undefined || asked === "" || !URL.canParse(asked, appUrl.origin)) return defaultCallback
  const url = new URL(asked, appUrl.origin)
  const path = `${url.pathname}${url.search}${url.hash}`
  // A path that begins with two slashes is a host's name to whoever follows it.
  const isPath = path.startsWith("/") && !path.startsWith("//")
  return url.origin === appUrl.origin && isPath ? path : defaultCallback
}
