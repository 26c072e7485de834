import { formatHostLine, parseLogEntries } from "@berth/infra/instance-drivers/LogLines"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, FastCheck } from "effect"

const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const line = (seconds: number, message: string, more: object = {}) =>
  `${JSON.stringify({ level: "info", timestamp: at(seconds), message, ...more })}\n`

/** Valid lines, malformed ones and everything between. */
const anyLine = FastCheck.oneof(
  FastCheck.tuple(FastCheck.integer({ min: 0, max: 3 }), FastCheck.constantFrom("one", "two")).map(([when, what]) =>
    line(when, what)
  ),
  FastCheck.string().map((text) => `${text}\n`),
  FastCheck.json().map((text) => `${text}\n`),
  FastCheck.constantFrom("\n", '{"level":\n', `{"level":1,"timestamp":"x","message":null}\n`, "\u0000\n")
)
const anyLog = FastCheck.array(anyLine).map((lines) => lines.join(""))

describe("parseLogEntries", () => {
  it.prop("parseLogEntries gives each entry of any text its own id", [anyLog], ([text]) => {
    const ids = parseLogEntries(text).map(({ id }) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
  })

  it.prop("parseLogEntries keeps ids when the log grows", [anyLog, anyLog], ([text, more]) => {
    const before = parseLogEntries(text).map(({ id }) => id)
    assert.deepStrictEqual(
      parseLogEntries(text + more)
        .slice(0, before.length)
        .map(({ id }) => id),
      before
    )
  })

  it("parseLogEntries keeps ids when the log is truncated at its beginning, within a line", () => {
    const text = Array.from({ length: 20 }, (_, index) => line(index, `message ${index}`)).join("")
    const whole = parseLogEntries(text)
    const cut = parseLogEntries(text.slice(500))
    assert.isAbove(cut.length, 5)
    assert.deepStrictEqual(cut, whole.slice(-cut.length))
  })

  it("parseLogEntries keeps the trace of a line, and nothing else in its place", () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c"
    const text = line(1, "one", { trace_id: traceId }) + line(2, "two", { trace_id: "<b>" }) + line(3, "three")
    assert.deepStrictEqual(
      parseLogEntries(text).map((entry) => entry.traceId),
      [traceId, undefined, undefined]
    )
  })

  it("parseLogEntries drops an unfinished last line and an incomplete first one", () => {
    assert.deepStrictEqual(parseLogEntries("   at somewhere\n\n"), [])
    assert.deepStrictEqual(
      parseLogEntries(`rest of a line\n${line(1, "one")}{"level":"in`).map(({ message }) => message),
      ["one"]
    )
  })

  it("parseLogEntries names the model and the provider that answered a turn", () => {
    const named = { agentId: "agt_1", model: "openai/gpt-4", provider: "openai" }
    assert.deepStrictEqual(
      parseLogEntries(line(1, "Turn answered", named) + line(2, "Turn answered", { model: "m" })).map(
        ({ message }) => message
      ),
      ["Turn answered: openai/gpt-4 (openai)", "Turn answered: m"]
    )
  })

  it("parseLogEntries returns two entries for two equal lines", () => {
    assert.lengthOf(parseLogEntries(line(1, "one") + line(1, "one")), 2)
  })

  it.each([
    ["DEBUG", "debug"],
    ["trace", "debug"],
    ["WARN", "warning"],
    ["warning", "warning"],
    ["fatal", "error"],
    ["strange", "info"]
  ])("parseLogEntries maps the level %s to %s", (level, expected) => {
    assert.strictEqual(parseLogEntries(line(1, "one", { level }))[0]?.level, expected)
  })

  it("parseLogEntries marks lines of the host, and drops lines with a malformed agent id", () => {
    const [entry] = parseLogEntries(formatHostLine("error", DateTime.unsafeMake(0), "gone"))
    assert.deepInclude(entry, { source: "host", level: "error", message: "gone", agentId: null })
    assert.deepStrictEqual(parseLogEntries(line(1, "one", { agentId: 7 })), [])
  })

  it("parseLogEntries limits the length of a message", () => {
    assert.lengthOf(parseLogEntries(line(1, "x".repeat(100_000)))[0]?.message ?? "", 4_000)
    assert.lengthOf(parseLogEntries(`${line(1, "one")}${"y".repeat(100_000)}\n`)[1]?.message ?? "", 4_000)
  })
})
