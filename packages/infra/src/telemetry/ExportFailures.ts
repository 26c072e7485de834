/** Result of an export, as reported by the SDK. */
interface ExportResult {
  readonly code: number
  readonly error?: Error
}

interface Exporter<Items> {
  export: (items: Items, done: (result: ExportResult) => void) => void
}

/** Removes credentials and query from an address. */
export const toPublicAddress = (url: string): string => {
  if (!URL.canParse(url)) return "an invalid address"
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

const describe = (error: Error | undefined): string => {
  if (error === undefined) return "no reason given"
  if ("code" in error && typeof error.code === "number") return `status ${error.code}`
  if ("code" in error && typeof error.code === "string") return error.code
  return error.message
}

/**
 * Observes the exports of an exporter: calls `onFailure` at the first failure, and `onRecovery` at the next success.
 */
export const observeExports = <Items, E extends Exporter<Items>>(
  exporter: E & Exporter<Items>,
  on: { readonly failure: (reason: string) => void; readonly recovery: () => void }
): E => {
  const send = exporter.export.bind(exporter)
  let isFailing = false
  exporter.export = (items, done) =>
    send(items, (result) => {
      const hasFailed = result.code !== 0
      if (hasFailed && !isFailing) on.failure(describe(result.error))
      if (!hasFailed && isFailing) on.recovery()
      isFailing = hasFailed
      done(result)
    })
  return exporter
}
