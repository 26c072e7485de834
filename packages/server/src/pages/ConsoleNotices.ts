import { pagePaths } from "./PagePaths.ts"
import { findCheckoutError, findNotice, findSignInError } from "./StatusMessages.ts"

export interface ConsoleNotice {
  readonly tone: "bad" | "idle"
  readonly text: string
}

export interface ConsoleVisit {
  readonly path: string
  readonly query: URLSearchParams
  readonly mayProvision: boolean
  readonly hasStorageUpgrade: boolean
}

/** The card event arrives a moment after the payment. */
const findPaymentNotice = ({ hasStorageUpgrade, mayProvision, path, query }: ConsoleVisit): string | undefined => {
  if (query.get("checkout") !== "done") return undefined
  if (path === pagePaths.onboarding)
    return mayProvision
      ? "Thank you. Your plan is active."
      : "Thank you. Your plan becomes active in a moment; this page reloads by itself."
  if (path === pagePaths.files)
    return hasStorageUpgrade
      ? "Thank you. You have the storage upgrade."
      : "Thank you. The upgrade becomes active in a moment. Reload this page."
  return undefined
}

/** The outcomes that redirects name in the address, as sentences. */
export const findConsoleNotices = (visit: ConsoleVisit): ReadonlyArray<ConsoleNotice> => {
  const code = visit.query.get("error")
  const failure = visit.path === pagePaths.files ? findCheckoutError(code) : findSignInError(code)
  const done = [findPaymentNotice(visit), findNotice(visit.query.get("notice"))]
  return [
    ...(failure === undefined ? [] : [{ tone: "bad" as const, text: failure }]),
    ...done.flatMap((text) => (text === undefined ? [] : [{ tone: "idle" as const, text }]))
  ]
}

/** A payment whose event has not arrived yet. */
export const isPlanPending = ({ mayProvision, path, query }: ConsoleVisit): boolean =>
  path === pagePaths.onboarding && query.get("checkout") === "done" && !mayProvision
