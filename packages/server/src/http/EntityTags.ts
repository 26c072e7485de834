/** Whether the client has the representation with this tag: `If-None-Match` by weak comparison (RFC 9110, section 13.1.2). */
export const isKnownByClient = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((entry) => {
    const known = entry.trim()
    return known === "*" || known.replace(/^W\//, "") === etag
  })
