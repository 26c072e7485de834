const maximumCauseDepth = 8

/**
 * Whether a call failed because nothing listens at the address, so nothing was sent; a reset can follow a received
 * request. For a host with several addresses, all of them must refuse.
 */
export const isConnectionRefused = (error: unknown, depth = 0): boolean => {
  if (!(error instanceof Error) || depth > maximumCauseDepth) return false
  if ("code" in error && (error.code === "ECONNREFUSED" || error.code === "ENOENT")) return true
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.every((inner) => isConnectionRefused(inner, depth + 1))
  return isConnectionRefused(error.cause, depth + 1)
}
