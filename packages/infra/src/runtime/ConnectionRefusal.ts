/** Causes lie in each other so deep at most. */
const maximumCauseDepth = 8

/**
 * Whether a call failed because nobody listens where it was to go. That alone says that nothing was sent: a connection that
 * was reset may have been so after the request had arrived. A host of several addresses counts when all of them refuse.
 */
export const isConnectionRefused = (error: unknown, depth = 0): boolean => {
  if (!(error instanceof Error) || depth > maximumCauseDepth) return false
  if ("code" in error && error.code === "ECONNREFUSED") return true
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.every((one) => isConnectionRefused(one, depth + 1))
  return isConnectionRefused(error.cause, depth + 1)
}
