import { detectBotSignals } from "@berth/domain/accounts/bot-detection/BotSignals"
import { assert, describe, it } from "@effect/vitest"

const browser = {
  "user-agent": "Browser/1",
  accept: "*/*",
  "accept-language": "en",
  "sec-fetch-site": "same-origin"
}
const signs = (headers: Readonly<Record<string, string | undefined>>) =>
  detectBotSignals(headers, (userAgent) => userAgent.startsWith("Program"))

describe("detectBotSignals", () => {
  it("detectBotSignals returns none for a browser's request from a page of the service", () => {
    assert.deepStrictEqual(signs(browser), [])
    assert.deepStrictEqual(signs({ ...browser, "accept-language": "*" }), [])
    assert.deepStrictEqual(signs({ ...browser, "sec-fetch-site": undefined, origin: "https://berth.example" }), [])
  })

  const changes = [
    ["no user agent", { "user-agent": undefined }],
    ["no user agent", { "user-agent": " " }],
    ["user agent of a program", { "user-agent": "Program/2" }],
    ["headless browser", { "user-agent": "HeadlessBrowser/1" }],
    ["headless browser", { "sec-ch-ua": '"HeadlessBrowser";v="1"' }],
    ["no accept header", { accept: "" }],
    ["no accept-language header", { "accept-language": undefined }],
    ["no accept-language header", { "accept-language": "?" }],
    ["sent by no page", { "sec-fetch-site": undefined }],
    ["sent by another site's page", { "sec-fetch-site": "cross-site" }],
    ["sent by another site's page", { "sec-fetch-site": "none" }]
  ] as const
  for (const [sign, change] of changes)
    it(`detectBotSignals returns "${sign}" for ${JSON.stringify(change)}`, () => {
      assert.deepStrictEqual(signs({ ...browser, ...change }), [sign])
    })

  it("detectBotSignals returns all signs for a request without headers", () => {
    assert.deepStrictEqual(signs({}), [
      "no user agent",
      "no accept header",
      "no accept-language header",
      "sent by no page"
    ])
  })
})
