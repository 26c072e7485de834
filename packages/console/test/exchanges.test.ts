import { assert, describe, it } from "@effect/vitest"
import { type LiveHead, mergeMessages, nameMessage, pairMessages } from "../src/chat/exchanges.ts"
import type { SessionMessageJson } from "../src/wire.ts"

const makeMessage = (fields: Pick<SessionMessageJson, "id" | "role" | "status" | "content">): SessionMessageJson => ({
  timestamp: 0,
  failure: null,
  model: null,
  provider: null,
  units: null,
  costMicros: null,
  durationMs: null,
  stopped: false,
  toolCalls: [],
  attachments: [],
  ...fields
})
const question = (id: string, status: "pending" | "answered" | "failed", content = `Question ${id}`) =>
  makeMessage({ id, role: "user", status, content })
const reply = (id: string) => makeMessage({ id, role: "assistant", status: "answered", content: `Reply ${id}` })
const answer = (key: string, messageId: string | undefined, question?: string): LiveHead => ({
  key,
  messageId,
  question,
  attachments: [],
  tools: [],
  isBroken: false,
  isStopping: false,
  failure: undefined
})

const show = (messages: ReadonlyArray<SessionMessageJson>, answers: ReadonlyArray<LiveHead>) =>
  pairMessages(messages, answers).map(({ key, live, question, reply }) =>
    [key, question?.id ?? "-", reply?.id ?? "-", live?.key ?? "-"].join(" ")
  )

describe("Exchanges", () => {
  it("An exchange keeps its key from the first event of its answer to the stored reply", () => {
    const requested = answer("live-1", "m1", "Question m1")
    assert.deepStrictEqual(show([], [requested]), ["m1 - - live-1"])
    assert.deepStrictEqual(show([question("m1", "pending")], [requested]), ["m1 m1 - live-1"])
    assert.deepStrictEqual(show([question("m1", "answered"), reply("r1")], [requested]), ["m1 m1 r1 live-1"])
    assert.deepStrictEqual(show([question("m1", "answered"), reply("r1")], []), ["m1 m1 r1 -"])
  })

  it("An exchange pairs an answer without a message id with the pending message of its text, and no message twice", () => {
    const messages = [question("m1", "answered", "Same"), reply("r1"), question("m2", "pending", "Same")]
    assert.deepStrictEqual(show(messages, [answer("live-2", undefined, "Same")]), ["m1 m1 r1 -", "m2 m2 - live-2"])
    assert.deepStrictEqual(show(messages.slice(0, 2), [answer("live-2", undefined, "Same")]), [
      "m1 m1 r1 -",
      "live-2 - - live-2"
    ])
  })

  it("An exchange has one answer in progress, also if its message was followed before its sender had a response", () => {
    const followed = answer("live-1", "m1")
    const sent = answer("live-2", undefined, "Question m1")
    const other = answer("live-3", "m2")
    const named = nameMessage([followed, sent, other], "live-2", "m1")
    assert.deepStrictEqual(named, [{ ...sent, messageId: "m1" }, other])
    assert.deepStrictEqual(show([question("m1", "pending"), question("m2", "pending")], named), [
      "m1 m1 - live-2",
      "m2 m2 - live-3"
    ])
  })

  it("An exchange has the reply that follows its message; a reply without one stands alone", () => {
    const messages = [reply("r0"), question("m1", "failed"), question("m2", "answered"), reply("r2"), reply("r3")]
    assert.deepStrictEqual(show(messages, []), ["r0 - r0 -", "m1 m1 - -", "m2 m2 r2 -", "r3 - r3 -"])
  })
})

describe("Merged messages", () => {
  const [first, second, answer] = [question("m1", "answered"), question("m2", "pending"), reply("r1")]

  it("Merged messages have the order of the later response, and keep the objects that did not change", () => {
    const merged = mergeMessages([first, second], [{ ...first }, answer, question("m2", "answered"), reply("r2")])
    assert.deepStrictEqual(
      merged.map(({ id, status }) => `${id} ${status}`),
      ["m1 answered", "r1 answered", "m2 answered", "r2 answered"]
    )
    assert.strictEqual(merged[0], first)
  })

  it("Merged messages lose nothing by an older response, and no message becomes pending again", () => {
    const known = [first, answer, question("m2", "answered"), reply("r2")]
    assert.deepStrictEqual(mergeMessages(known, [first, answer, second]), known)
    assert.deepStrictEqual(mergeMessages(known, [reply("r2")]), known)
    assert.deepStrictEqual(mergeMessages(known, []), known)
  })
})
