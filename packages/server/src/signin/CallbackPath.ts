import type { HttpServerRequest } from "@effect/platform"

const defaultCallback = "/dashboard"

/** Returns the path to return to after a sign-in; the default for a URL of another origin. */
export const resolveCallbackPath = (requested: string | undefined, appUrl: URL): string => {
  if (requested === undefined || requested === "" || !URL.canParse(requested, appUrl.origin)) return defaultCallback
  const url = new URL(requested, appUrl.origin)
  const path = `${url.pathname}${url.search}${url.hash}`
  // A leading double slash makes the next segment a host name.
  const isPath = path.startsWith("/") && !path.startsWith("//")
  return url.origin === appUrl.origin && isPath ? path : defaultCallback
}

export const readQuery = ({ url }: HttpServerRequest.HttpServerRequest): URLSearchParams =>
  new URL(url, "http://localhost").searchParams
