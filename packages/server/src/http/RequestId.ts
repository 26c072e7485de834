const pattern = /^[A-Za-z0-9._:-]{1,128}$/

/** Accepts a request id that is safe in headers and log lines. */
export const acceptRequestId = (id: string | undefined): string | undefined =>
  id !== undefined && pattern.test(id) ? id : undefined
