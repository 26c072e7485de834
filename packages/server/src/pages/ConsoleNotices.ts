import type { ConsoleNotice } from "@berth/api/pages/ConsoleSettings"
import { pagePaths } from "./PagePaths.ts"
import { findCheckoutError, findNotice, findSignInError } from "./StatusMessages.ts"

interface ConsoleVisit {
  readonly path: string
  readonly query: URLSearchParams
  readonly mayProvision: boolean
  readonly hasStorageUpgrade: boolean
}

/** Values of `attempt` in the address: each reload waits twice as long, from 3 to 48 seconds. */
const attempts = [null, "1", "2", "3", "4"]

/** Returns the number of reloads so far for a payment whose event is pending, -1 after the last. */
const findAttempt = ({ mayProvision, path, query }: ConsoleVisit): number | undefined =>
  path === pagePaths.onboarding && query.get("checkout") === "done" && !mayProvision
    ? attempts.indexOf(query.get("attempt"))
    : undefined

/** Returns the header `refresh` for a page that waits for the event of a payment. */
export const findPlanReload = (visit: ConsoleVisit): string | undefined => {
  const attempt = findAttempt(visit) ?? -1
  return attempt < 0 ? undefined : `${3 * 2 ** attempt}; url=${visit.path}?checkout=done&attempt=${attempt + 1}`
}

/** The card event arrives shortly after the payment. */
const findPaymentNotice = (visit: ConsoleVisit): string | undefined => {
  const { hasStorageUpgrade, path, query } = visit
  if (query.get("checkout") !== "done") return undefined
  if (path === pagePaths.onboarding) {
    const attempt = findAttempt(visit)
    if (attempt === undefined) return "Thank you. Your plan is active."
    return attempt < 0
      ? "The card processor has not confirmed the payment yet. Reload this page in a few minutes, before you pay again."
      : "Thank you. Your plan becomes active in a moment; this page reloads by itself."
  }
  if (path === pagePaths.files)
    return hasStorageUpgrade
      ? "Thank you. You have the storage upgrade."
      : "Thank you. The upgrade becomes active in a moment. Reload this page."
  return undefined
}

/** Describes the outcomes that redirects put into the address. */
export const findConsoleNotices = (visit: ConsoleVisit): ReadonlyArray<ConsoleNotice> => {
  const code = visit.query.get("error")
  const failure = visit.path === pagePaths.files ? findCheckoutError(code) : findSignInError(code)
  const done = [findPaymentNotice(visit), findNotice(visit.query.get("notice"))]
  return [
    ...(failure === undefined ? [] : [{ tone: "bad" as const, text: failure }]),
    ...done.flatMap((text) => (text === undefined ? [] : [{ tone: "idle" as const, text }]))
  ]
}
