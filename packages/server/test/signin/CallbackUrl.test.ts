import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { callbackPath } from "../../src/signin/CallbackUrl.ts"

const appUrl = new URL("https://berth.example")

const piece = FastCheck.oneof(
  FastCheck.constantFrom("/", "//", "\\", ".", "..", "@", ":", "?", "#", "%2f", "%09", "\t", "\n", " ", "evil.example"),
  FastCheck.constantFrom("https:", "http:", "javascript:", "https://berth.example", "//berth.example", "berth.example"),
  FastCheck.string({ maxLength: 5 })
)

describe("where a sign-in leads", () => {
  it("is a path of this service, kept as it is", () => {
    for (const path of ["/agents", "/agents?x=1&y=%2F#top", "/%2F/evil.example"])
      assert.strictEqual(callbackPath(path, appUrl), path)
    assert.strictEqual(callbackPath("https://berth.example/pricing", appUrl), "/pricing")
    assert.strictEqual(callbackPath(undefined, appUrl), "/dashboard")
  })

  it("never leads a browser to another host, whatever it is put together from", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 8 }), (pieces) => {
        const path = callbackPath(pieces.join(""), appUrl)
        assert.match(path, /^\/(?!\/)/)
        // As a browser reads a Location.
        assert.strictEqual(new URL(path, appUrl).origin, appUrl.origin)
      }),
      { numRuns: 2_000 }
    )
  })
})
