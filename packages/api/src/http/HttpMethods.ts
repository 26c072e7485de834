/** Known methods by OpenTelemetry's HTTP conventions; telemetry names all others `_OTHER`. */
const knownMethods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "CONNECT",
  "OPTIONS",
  "TRACE",
  "PATCH",
  "QUERY"
])

export const isKnownMethod = (method: string): boolean => knownMethods.has(method)
