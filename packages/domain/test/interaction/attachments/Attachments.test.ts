import {
  type Attachment,
  AttachmentId,
  cleanFileName,
  describeAttachments
} from "@berth/domain/interaction/attachments/Attachment"
import { AttachmentRepository } from "@berth/domain/interaction/attachments/AttachmentRepository"
import { makeAttachmentPrompts } from "@berth/domain/interaction/attachments/Attachments"
import { maximumHistoryCharacters } from "@berth/domain/interaction/conversations/HistoryWindow"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const textFile = (id: string, size: number): Attachment => ({
  id: AttachmentId.make(id),
  name: `${id}.txt`,
  mediaType: "text/plain",
  size
})
const owner = { userId: UserId.make("usr_a"), agentId: AgentId.make("agt_a") }

describe("Attachments", () => {
  it.effect("makeAttachmentPrompts reads the files of no more messages than a history has room for", () =>
    Effect.gen(function* () {
      const read: Array<string> = []
      const repository = Layer.mock(AttachmentRepository, {
        readTexts: (_, ids) =>
          Effect.sync(() => {
            read.push(...ids)
            return new Map(ids.map((id) => [id, `Text of ${id}`]))
          })
      })
      const message = (id: string) => ({
        content: id,
        attachments: [textFile(id, maximumHistoryCharacters)]
      })
      const prompts = yield* Effect.provide(makeAttachmentPrompts, repository)
      const { before, prompted } = yield* prompts(
        owner,
        ["a", "b", "c", "d", "e"].map((id) => message(id)),
        message("f")
      )
      // A text has at least a third of its bytes in characters.
      assert.deepStrictEqual(read, ["d", "e", "f"])
      assert.deepStrictEqual(
        before.map(({ content }) => content),
        ["d", "e"].map((id) => `${id}\n\nAttached file ${id}.txt:\n\`\`\`\nText of ${id}\n\`\`\``)
      )
      assert.include(prompted.content, "Text of f")
    })
  )

  it("describeAttachments encloses a text of many code spans", () => {
    const text = "` ".repeat(200_000)
    const described = describeAttachments("", [textFile("a", text.length)], new Map([["a", text]]))
    assert.strictEqual(described, `Attached file a.txt:\n\`\`\`\n${text}\n\`\`\``)
  })

  it("cleanFileName returns one line without folders, control characters and marks of direction", () => {
    for (const [fileName, name] of [
      ["a\r\nb.txt", "a  b.txt"],
      ["..\\..\\a.txt", "a.txt"],
      ["../", "file"],
      ["\u0000", "file"],
      ["exe.\u202Etxt.png", "exe. txt.png"],
      ["a\u2028b\u2029c", "a b c"],
      ["\uD800", "\uFFFD"]
    ] as const)
      assert.strictEqual(cleanFileName(fileName), name)
  })
})
