import { encodeCanonicalJson } from "@berth/domain/gateway/payments/CanonicalJson"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Schema } from "effect"

const parse = Schema.decodeSync(Schema.parseJson())

const words = FastCheck.string({ unit: "binary" })
const leaf = FastCheck.oneof(
  words,
  FastCheck.double({ noNaN: true, noDefaultInfinity: true }),
  FastCheck.boolean(),
  FastCheck.constant(null)
)

describe("Canonical JSON", () => {
  // The examples of RFC 8785, sections 3.2.2 to 3.2.4.
  it("Canonical JSON equals the examples of the RFC", () => {
    assert.strictEqual(
      encodeCanonicalJson({
        numbers: [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
        string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
        literals: [null, true, false]
      }),
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert.strictEqual(
      encodeCanonicalJson({ "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 }),
      '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"\u{1f600}":5,"\ufb33":3}'
    )
  })

  it.prop(
    "Canonical JSON parses to its value, and is independent of the order of members",
    [FastCheck.dictionary(words, FastCheck.oneof(leaf, FastCheck.array(leaf), FastCheck.dictionary(words, leaf)))],
    ([value]) => {
      const reversed = Object.fromEntries(Object.entries(value).toReversed())
      const text = encodeCanonicalJson(value)
      assert.deepStrictEqual(parse(text), parse(JSON.stringify(value)))
      assert.strictEqual(encodeCanonicalJson(reversed), text)
    }
  )
})
