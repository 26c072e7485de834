import { formatHostLine, parseLogEntries } from "@berth/infra/instance-drivers/LogLines"
import { describe, expect, it } from "@effect/vitest"
import { DateTime, FastCheck } from "effect"

const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const line = (seconds: number, message: string, more: object = {}) =>
  `${JSON.stringify({ level: "info", timestamp: at(seconds), message, ...more })}\n`

/** Good lines, broken ones and everything between. */
const anyLine = FastCheck.oneof(
  FastCheck.tuple(FastCheck.integer({ min: 0, max: 3 }), FastCheck.constantFrom("one", "two")).map(([when, what]) =>
    line(when, what)
  ),
  FastCheck.string().map((text) => `${text}\n`),
  FastCheck.json().map((text) => `${text}\n`),
  FastCheck.constantFrom("\n", '{"level":\n', `{"level":1,"timestamp":"x","message":null}\n`, "\u0000\n")
)
const anyLog = FastCheck.array(anyLine).map((lines) => lines.join(""))

describe("entries of a log", () => {
  it.prop("come out of any text, each with an id of its own", [anyLog], ([text]) => {
    const ids = parseLogEntries(text).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it.prop("keep their ids when the log grows", [anyLog, anyLog], ([text, more]) => {
    const before = parseLogEntries(text).map(({ id }) => id)
    expect(
      parseLogEntries(text + more)
        .slice(0, before.length)
        .map(({ id }) => id)
    ).toStrictEqual(before)
  })

  it("keep their ids when the beginning of the log is cut off, in the middle of a line", () => {
    const text = Array.from({ length: 20 }, (_, index) => line(index, `message ${index}`)).join("")
    const whole = parseLogEntries(text)
    const cut = parseLogEntries(text.slice(500))
    expect(cut.length).toBeGreaterThan(5)
    expect(cut).toStrictEqual(whole.slice(-cut.length))
  })

  it("leave out what is still being written, and what has lost its beginning", () => {
    expect(parseLogEntries("   at somewhere\n\n")).toStrictEqual([])
    expect(
      parseLogEntries(`rest of a line\n${line(1, "one")}{"level":"in`).map(({ message }) => message)
    ).toStrictEqual(["one"])
  })

  it("two equal lines are two entries", () => {
    expect(parseLogEntries(line(1, "one") + line(1, "one"))).toHaveLength(2)
  })

  it.each([
    ["DEBUG", "debug"],
    ["trace", "debug"],
    ["WARN", "warning"],
    ["warning", "warning"],
    ["fatal", "error"],
    ["strange", "info"]
  ])("a line of level %s is one of %s", (level, expected) => {
    expect(parseLogEntries(line(1, "one", { level }))[0]?.level).toBe(expected)
  })

  it("what the host says is told as the host's, and a cell cannot pass for an agent of another id", () => {
    const [entry] = parseLogEntries(formatHostLine("error", DateTime.unsafeMake(0), "gone"))
    expect(entry).toMatchObject({ source: "host", level: "error", message: "gone", agentId: null })
    expect(parseLogEntries(line(1, "one", { agentId: 7 }))).toStrictEqual([])
  })

  it("no message is longer than a screen", () => {
    expect(parseLogEntries(line(1, "x".repeat(100_000)))[0]?.message).toHaveLength(4_000)
    expect(parseLogEntries(`${line(1, "one")}${"y".repeat(100_000)}\n`)[1]?.message).toHaveLength(4_000)
  })
})
