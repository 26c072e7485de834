import type { Visitor } from "./BotDetection.ts"

type BotSignal =
  | "no user agent"
  | "user agent of a program"
  | "headless browser"
  | "no accept header"
  | "no accept-language header"
  | "sent by no page"
  | "sent by another site's page"

/**
 * Returns signals of a state-changing request that no browser sends. Browsers name the page in Fetch Metadata (Chrome
 * 76, Firefox 90, Safari 16.4), which scripts cannot forge; older versions, and all on plain http, send `Origin`.
 */
export const detectBotSignals = (
  headers: Visitor["headers"],
  isKnownProgram: (userAgent: string) => boolean
): ReadonlyArray<BotSignal> => {
  const value = (name: string) => (headers[name] ?? "").trim()
  const userAgent = value("user-agent")
  const site = value("sec-fetch-site")
  const signals: ReadonlyArray<readonly [boolean, BotSignal]> = [
    [userAgent === "", "no user agent"],
    [userAgent !== "" && isKnownProgram(userAgent), "user agent of a program"],
    [/headless/i.test(`${userAgent} ${value("sec-ch-ua")}`), "headless browser"],
    [value("accept") === "", "no accept header"],
    [!/^(\*|[A-Za-z]{1,8})/.test(value("accept-language")), "no accept-language header"],
    [site === "" && value("origin") === "", "sent by no page"],
    [site !== "" && site !== "same-origin", "sent by another site's page"]
  ]
  return signals.flatMap(([applies, signal]) => (applies ? [signal] : []))
}
