import { resolveCallbackPath } from "@berth/server/signin/CallbackPath"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const appUrl = new URL("https://berth.example")

describe("resolveCallbackPath", () => {
  it("resolveCallbackPath returns a path on this service", () => {
    assert.strictEqual(resolveCallbackPath("/dashboard/files?a=b#c", appUrl), "/dashboard/files?a=b#c")
    assert.strictEqual(resolveCallbackPath("https://berth.example/pricing", appUrl), "/pricing")
    assert.strictEqual(resolveCallbackPath("onboarding", appUrl), "/onboarding")
  })

  it("resolveCallbackPath returns the dashboard for other origins and malformed input", () => {
    const elsewhere = [
      undefined,
      "",
      "https://evil.example/",
      "//evil.example",
      "/\\evil.example",
      "/.//evil.example",
      "/a/..//evil.example",
      "https://berth.example//evil.example",
      "javascript:alert(1)",
      "https://berth.example:444/",
      // Its origin is that of the rest, with the rest as its path.
      "blob:https://berth.example/pricing"
    ]
    for (const requested of elsewhere)
      assert.strictEqual(resolveCallbackPath(requested, appUrl), "/dashboard", requested)
  })

  it("resolveCallbackPath never leaves the service for any text", () => {
    const piece = FastCheck.constantFrom(
      "/",
      "\\",
      ".",
      "..",
      "%2f",
      "%2e",
      "//",
      "@",
      ":",
      "evil.example",
      "?",
      "#",
      "\t"
    )
    const path = FastCheck.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""))
    FastCheck.assert(
      FastCheck.property(FastCheck.oneof(path, FastCheck.webUrl(), FastCheck.string()), (text) => {
        const { origin } = new URL(resolveCallbackPath(text, appUrl), appUrl)
        assert.strictEqual(origin, appUrl.origin)
      }),
      { numRuns: 2000 }
    )
  })
})
