const defaultCallback = "/dashboard"

/** Where a sign-in leads: a path on this service, or the default. A URL of any other origin is not followed. */
export const callbackPath = (asked: string | undefined, appUrl: URL): string => {
  if (asked === undefined || asked === "" || !URL.canParse(asked, appUrl.origin)) return defaultCallback
  const { hash, origin, pathname, search } = new URL(asked, appUrl.origin)
  // `/.//elsewhere.example` is ours until its dot goes: what is left then names another host.
  return origin === appUrl.origin && !pathname.startsWith("//") ? `${pathname}${search}${hash}` : defaultCallback
}
