import { parseJsonBody } from "@berth/server/http/RequestBody"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const read = (text: string) => parseJsonBody(new TextEncoder().encode(text))
const refusal = (text: string) => Either.match(read(text), { onLeft: ({ reason }) => reason, onRight: () => "none" })

const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`
const many = (values: number) => `[${Array.from({ length: values - 1 }, () => "0").join(",")}]`

describe("parseJsonBody", () => {
  it.prop("parseJsonBody returns valid JSON unchanged", [FastCheck.jsonValue({ maxDepth: 5 })], ([value]) => {
    const text = JSON.stringify(value)
    const isFit = !text.includes("\\u0000") && JSON.stringify(value) === JSON.stringify(value).toWellFormed()
    FastCheck.pre(isFit && !/\\ud[89a-f]/i.test(text))
    assert.deepStrictEqual(read(text), Either.right(JSON.parse(text)))
  })

  it.prop("parseJsonBody accepts or rejects any bytes", [FastCheck.uint8Array()], ([bytes]) => {
    const result = parseJsonBody(bytes)
    if (Either.isLeft(result)) assert.strictEqual(result.left._tag, "BodyMalformed")
  })

  it("parseJsonBody returns an empty object for an empty body", () =>
    assert.deepStrictEqual(read(" "), Either.right({})))

  it("parseJsonBody rejects deep nesting", () => {
    assert.strictEqual(refusal(nested(64)), "none")
    assert.strictEqual(refusal(nested(65)), "is nested deeper than 64 levels")
    assert.strictEqual(refusal(`{"a":${nested(100_000)}}`), "is nested deeper than 64 levels")
  })

  it("parseJsonBody rejects too many values", () => {
    assert.strictEqual(refusal(many(10_000)), "none")
    assert.strictEqual(refusal(many(10_001)), "has more than 10000 values")
  })

  it("parseJsonBody rejects text that PostgreSQL cannot store, anywhere", () => {
    const unstorable = "holds U+0000 or a lone surrogate"
    for (const text of ['"\\u0000"', '{"\\u0000":1}', '[["\\udc00"]]', '{"a":{"b":["\\ud800x"]}}'])
      assert.strictEqual(refusal(text), unstorable, text)
    assert.strictEqual(refusal('"\\ud83d\\ude00"'), "none")
  })
})
