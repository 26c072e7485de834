/** What a page may load and where it may send: this service, and wallets' icons, which are data. Nothing stands inline. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'"
].join("; ")

/** On every page, besides what is on every answer. Pages show what is somebody's own, so nothing keeps them. */
export const pageHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin-allow-popups"
}
