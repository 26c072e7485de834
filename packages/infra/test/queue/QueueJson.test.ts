import { decodeJobKey, describeThrown, encodeJobKey, toQueueJson, toQueueText } from "@berth/infra/queue/QueueJson"
import { assert, describe, it } from "@effect/vitest"
import { Data, FastCheck } from "effect"

const anyText = FastCheck.string({ unit: "binary" })

class InstanceDown extends Data.TaggedError("InstanceDown")<{ readonly reason: string }> {}

describe("StorableJson", () => {
  it.prop("StorableJson removes characters that PostgreSQL rejects, and no others", [anyText], ([text]) => {
    const stored = toQueueText(text)
    assert.isFalse(stored.includes("\u0000"))
    assert.isTrue(stored.isWellFormed())
    if (text.isWellFormed()) assert.strictEqual(stored, text.replaceAll("\u0000", ""))
  })

  it.prop("StorableJson keeps the JSON of a value that has nothing to clean", [FastCheck.jsonValue()], ([value]) => {
    FastCheck.pre(
      !JSON.stringify(value).includes("\\u0000") && JSON.stringify(value) === toQueueText(JSON.stringify(value))
    )
    FastCheck.pre(!/\\ud[89a-f]/i.test(JSON.stringify(value)))
    assert.deepStrictEqual(toQueueJson(value), JSON.parse(JSON.stringify(value)))
  })

  it("StorableJson cleans keys and nested members, and drops what JSON drops", () => {
    assert.deepStrictEqual(
      toQueueJson({ "a\u0000": [{ "\ud800": "\u0000" }], at: new Date(0), none: undefined, __proto__: { a: 1 } }),
      { a: [{ "\ufffd": "" }], at: "1970-01-01T00:00:00.000Z" }
    )
    assert.strictEqual(toQueueJson(undefined), null)
  })

  it("StorableJson describes thrown values", () => {
    assert.strictEqual(describeThrown(new InstanceDown({ reason: "no\u0000 answer" })), "InstanceDown: no answer")
    assert.strictEqual(describeThrown(new TypeError("x")), "TypeError: x")
    assert.strictEqual(describeThrown("text"), "text")
    assert.strictEqual(describeThrown(new Error("x".repeat(5000))).length, 2000)
  })

  it.prop("StorableJson encodes any id for BullMQ and decodes it", [FastCheck.string(), anyText], ([id, other]) => {
    const key = encodeJobKey(id)
    assert.match(key, /^k-[A-Za-z0-9_-]*$/)
    assert.strictEqual(decodeJobKey(key), toQueueText(id))
    if (toQueueText(id) !== toQueueText(other)) assert.notStrictEqual(key, encodeJobKey(other))
  })
})
