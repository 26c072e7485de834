const pattern = /^[A-Za-z0-9._:-]{1,128}$/

/** Accepts a request id that is safe in headers and log lines. */
export const acceptRequestId = (given: string | undefined): string | undefined =>
  given !== undefined && pattern.test(given) ? given : undefined
