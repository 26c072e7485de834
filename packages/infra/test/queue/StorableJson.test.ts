import { jobIdOf, jobKey } from "@berth/infra/queue/JobKey"
import { storableJson, storableReason, storableText } from "@berth/infra/queue/StorableJson"
import { assert, describe, it } from "@effect/vitest"
import { Data, FastCheck } from "effect"

const anyText = FastCheck.string({ unit: "binary" })

class CellIsDown extends Data.TaggedError("CellIsDown")<{ readonly reason: string }> {}

describe("StorableJson", () => {
  it.prop("leaves no character that PostgreSQL refuses, and touches no other", [anyText], ([text]) => {
    const stored = storableText(text)
    assert.isFalse(stored.includes("\u0000"))
    assert.isTrue(stored.isWellFormed())
    if (text.isWellFormed()) assert.strictEqual(stored, text.replaceAll("\u0000", ""))
  })

  it.prop("keeps the JSON of a value that has nothing to clean", [FastCheck.jsonValue()], ([value]) => {
    FastCheck.pre(
      !JSON.stringify(value).includes("\\u0000") && JSON.stringify(value) === storableText(JSON.stringify(value))
    )
    FastCheck.pre(!/\\ud[89a-f]/i.test(JSON.stringify(value)))
    assert.deepStrictEqual(storableJson(value), JSON.parse(JSON.stringify(value)))
  })

  it("cleans keys and nested members, and drops what JSON drops", () => {
    assert.deepStrictEqual(
      storableJson({ "a\u0000": [{ "\ud800": "\u0000" }], at: new Date(0), none: undefined, __proto__: { a: 1 } }),
      { a: [{ "\ufffd": "" }], at: "1970-01-01T00:00:00.000Z" }
    )
    assert.strictEqual(storableJson(undefined), null)
  })

  it("words what was thrown", () => {
    assert.strictEqual(storableReason(new CellIsDown({ reason: "no\u0000 answer" })), "CellIsDown: no answer")
    assert.strictEqual(storableReason(new TypeError("x")), "TypeError: x")
    assert.strictEqual(storableReason("text"), "text")
    assert.strictEqual(storableReason(new Error("x".repeat(5000))).length, 2000)
  })

  it.prop("encodes any id into one that BullMQ takes, and back", [FastCheck.string(), anyText], ([id, other]) => {
    const key = jobKey(id)
    assert.match(key, /^k-[A-Za-z0-9_-]*$/)
    assert.strictEqual(jobIdOf(key), storableText(id))
    if (storableText(id) !== storableText(other)) assert.notStrictEqual(key, jobKey(other))
  })
})
