import { formatAnswerEventId, parseAnswerEventId } from "@berth/domain/interaction/answers/AnswerEvent"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

describe("The id of an answer's event", () => {
  it.prop("An answer event's id parses to its parts", [FastCheck.uuid(), FastCheck.nat(999_999_999)], ([uuid, n]) => {
    const messageId = MessageId.make(`msg_${uuid.replaceAll("-", "")}`)
    assert.deepStrictEqual(
      parseAnswerEventId(` ${formatAnswerEventId(messageId, n)} `),
      Option.some({ messageId, after: n })
    )
  })

  for (const text of ["", "msg_1", "msg_1:", ":1", "msg_1:x", "msg_1:-1", "msg_1:1.5", "msg_1:1:2", "m g:1", "m:1e3"])
    it(`parseAnswerEventId rejects "${text}"`, () => {
      assert.isTrue(Option.isNone(parseAnswerEventId(text)))
    })

  it("parseAnswerEventId rejects numbers that are not safe integers", () => {
    assert.isTrue(Option.isNone(parseAnswerEventId(`msg_1:${"9".repeat(10)}`)))
    assert.isTrue(Option.isNone(parseAnswerEventId(`${"m".repeat(101)}:1`)))
  })
})
