import { isOwnOrigin } from "@berth/server/http/OriginPolicy"
import { makeSessionCookieName } from "@berth/server/http/SecretCookies"
import { assert, describe, it } from "@effect/vitest"

const local = new URL("http://localhost:3000")
const live = new URL("https://berth.example")

describe("isOwnOrigin", () => {
  const table: ReadonlyArray<readonly [string, string | undefined, URL, boolean]> = [
    ["POST", undefined, live, true],
    ["POST", "https://berth.example", live, true],
    ["POST", "https://berth.example:443", live, true],
    ["POST", "http://berth.example", live, false],
    ["POST", "https://evil.example", live, false],
    ["POST", "https://agents.berth.example", live, false],
    ["POST", "null", live, false],
    ["POST", "", live, false],
    ["GET", "https://evil.example", live, true],
    ["DELETE", "https://evil.example", live, false],
    ["POST", "http://127.0.0.1:3000", local, true],
    ["POST", "http://[::1]:3000", local, true],
    ["POST", "http://localhost:3001", local, false]
  ]
  for (const [method, origin, appUrl, expected] of table)
    it(`${method} from ${origin ?? "a program"} at ${appUrl.host} is ${expected ? "own" : "foreign"}`, () =>
      assert.strictEqual(isOwnOrigin(method, { origin }, appUrl), expected))

  for (const [method, site, expected] of [
    ["POST", "cross-site", false],
    ["DELETE", "cross-site", false],
    ["GET", "cross-site", true],
    ["POST", "same-origin", true],
    ["POST", "none", true]
  ] as const)
    it(`${method} without Origin and with Sec-Fetch-Site: ${site} is ${expected ? "own" : "foreign"}`, () =>
      assert.strictEqual(isOwnOrigin(method, { "sec-fetch-site": site }, live), expected))
})

describe("makeSessionCookieName", () => {
  it("makeSessionCookieName has the __Host- prefix on https and the port in development", () => {
    assert.strictEqual(makeSessionCookieName(live), "__Host-berth_session")
    assert.strictEqual(makeSessionCookieName(local), "berth_session_3000")
  })
})
