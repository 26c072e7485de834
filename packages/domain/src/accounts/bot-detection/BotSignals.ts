import type { Visitor } from "./BotDetection.ts"

/** What gives a program away. */
export type BotSignal =
  | "no user agent"
  | "user agent of a program"
  | "headless browser"
  | "no accept header"
  | "no accept-language header"
  | "sent by no page"
  | "sent by another site's page"

/**
 * What of a request that changes something is not as browsers send it. Every browser names itself, what it takes and in which
 * languages, and says of such a request which page sent it: in Fetch Metadata, which page scripts cannot forge (Chrome 76, Firefox 90,
 * Safari 16.4), and before these, or on plain http, in `Origin`. A list knows which user agents are programs' own.
 */
export const detectBotSignals = (
  headers: Visitor["headers"],
  isKnownProgram: (userAgent: string) => boolean
): ReadonlyArray<BotSignal> => {
  const value = (name: string) => (headers[name] ?? "").trim()
  const userAgent = value("user-agent")
  const site = value("sec-fetch-site")
  const signs: ReadonlyArray<readonly [boolean, BotSignal]> = [
    [userAgent === "", "no user agent"],
    [userAgent !== "" && isKnownProgram(userAgent), "user agent of a program"],
    [/headless/i.test(`${userAgent} ${value("sec-ch-ua")}`), "headless browser"],
    [value("accept") === "", "no accept header"],
    [!/^(\*|[A-Za-z]{1,8})/.test(value("accept-language")), "no accept-language header"],
    [site === "" && value("origin") === "", "sent by no page"],
    [site !== "" && site !== "same-origin", "sent by another site's page"]
  ]
  return signs.flatMap(([shows, sign]) => (shows ? [sign] : []))
}
