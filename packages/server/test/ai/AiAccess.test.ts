import { isAllowedHost } from "@berth/server/ai/AiAccessHttp"
import { assert, describe, it } from "@effect/vitest"

describe("isAllowedHost", () => {
  const hosts = ["Backend.internal", "10.0.0.5", "fd00::1"]

  it.each([
    undefined,
    "localhost",
    "LOCALHOST:4000",
    "127.0.0.1:4000",
    "127.9.9.9",
    "[::1]:4000",
    "backend.internal:4000",
    "10.0.0.5",
    "[fd00::1]:4000"
  ])("isAllowedHost accepts %s", (header) => {
    assert.isTrue(isAllowedHost(header, hosts))
  })

  it.each([
    "evil.example",
    "evil.example:4000",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example@localhost.evil",
    "10.0.0.6",
    "[::2]",
    "not a host",
    ""
  ])("isAllowedHost rejects %j", (header) => {
    assert.isFalse(isAllowedHost(header, hosts))
  })
})
