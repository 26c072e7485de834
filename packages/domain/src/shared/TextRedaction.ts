const replacement = "REDACTED"

/**
 * Query values, credentials in URLs, and tokens by their format. Names of metrics are shorter than API keys. Lengths are
 * bounded where a search would take quadratic time.
 */
const secretForms: ReadonlyArray<readonly [RegExp, string]> = [
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]+@/gi, `$1${replacement}@`],
  [/([?&][\w.~%-]+=)[^&\s"'#)]+/g, `$1${replacement}`],
  [/\b(bearer|basic|payment)\s+[\w.~+/=-]{8,}/gi, `$1 ${replacement}`],
  [/\b(?:sk|gsk|pk|rk|whsec|ghp|xox[a-z])[_-][\w-]{12,}/g, replacement],
  [/\bberth_[\w-]{32,}/g, replacement],
  // The lookahead makes each position fail or match at once.
  [/(?<![\w-])(?=[\w-]+\.[\w-]+\.)([\w-]*?)\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, `$1${replacement}`]
]

/** Replaces texts that resemble secrets. */
export const redactText = (text: string): string =>
  secretForms.reduce((clean, [form, by]) => clean.replaceAll(form, by), text)

/** Removes the values of a query string. */
export const redactQueryString = (query: string): string =>
  query
    .split("&")
    .map((pair) => (pair.includes("=") ? `${pair.slice(0, pair.indexOf("="))}=${replacement}` : pair))
    .join("&")
