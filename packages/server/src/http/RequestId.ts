const pattern = /^[A-Za-z0-9._:-]{1,128}$/

/** A caller's own request id is kept when it is harmless in a header and a log line. */
export const acceptRequestId = (given: string | undefined): string | undefined =>
  given !== undefined && pattern.test(given) ? given : undefined
