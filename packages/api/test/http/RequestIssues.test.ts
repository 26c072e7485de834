import { summarizeIssues } from "@berth/api/http/RequestIssues"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

describe("summarize", () => {
  it("summarizeIssues names an optional field with several values once", () =>
    assert.deepStrictEqual(
      summarizeIssues([
        { path: "action", message: 'Expected "sessions", actual "zzz"' },
        { path: "action", message: 'Expected "memory", actual "zzz"' },
        { path: "action", message: 'Expected undefined, actual "zzz"' }
      ]),
      [{ path: "action", message: 'Expected "sessions" | "memory", actual "zzz"' }]
    ))
  it("summarizeIssues cuts a long value", () =>
    assert.deepStrictEqual(
      summarizeIssues([{ path: "topic", message: `Expected a short text, actual "${"x".repeat(5_000)}"` }]),
      [{ path: "topic", message: `Expected a short text, actual "${"x".repeat(99)}…` }]
    ))

  it("summarizeIssues names an object without its type", () => {
    for (const type of ["Struct (Encoded side)", "Struct", "{ readonly name: string } (Encoded side)"])
      assert.deepStrictEqual(summarizeIssues([{ path: "", message: `Expected ${type}, actual []` }]), [
        { path: "", message: "Expected an object, actual []" }
      ])
  })
  it("summarizeIssues names no type of the service", () => {
    const cases = [
      ["AgentConfigPatch (Encoded side)", "a valid value"],
      ["GatewayAnswer | string", "a valid value | string"],
      ["ReadonlyArray<ChatMessage>", "an array"],
      ["{ readonly a: AgentId | null }", "an object"],
      ["readonly [AiChatMessage, ...AiChatMessage[]]", "an array"],
      ["string | readonly [TextPart, ...TextPart[]]", "string | an array"],
      ["{ readonly a?: string | undefined } | { readonly b?: string | undefined }", "an object"],
      ["(Struct (Encoded side) <-> { readonly a: string | null }) | string", "a valid value | string"],
      ['"web" | "platformA"', '"web" | "platformA"'],
      ["a string matching the pattern", "a string matching the pattern"]
    ] as const
    for (const [internal, expected] of cases)
      assert.deepStrictEqual(summarizeIssues([{ path: "a", message: `Expected ${internal}, actual 1` }]), [
        { path: "a", message: `Expected ${expected}, actual 1` }
      ])
  })
  it("summarizeIssues prefers the message of a refinement to the alternative null", () =>
    assert.deepStrictEqual(
      summarizeIssues([
        { path: "t", message: "Expected null, actual 9" },
        { path: "t", message: "must be an IANA time zone" }
      ]),
      [{ path: "t", message: "must be an IANA time zone" }]
    ))
  it("summarizeIssues omits the alternatives of a field that has an issue inside", () =>
    assert.deepStrictEqual(
      summarizeIssues([
        { path: "config.channels.1", message: 'Expected "web", actual "pigeon"' },
        { path: "config", message: 'Expected null, actual {"channels":["web","pigeon"]}' },
        { path: "name", message: "Expected null, actual 1" }
      ]),
      [
        { path: "config.channels.1", message: 'Expected "web", actual "pigeon"' },
        { path: "name", message: "Expected null, actual 1" }
      ]
    ))
  it("summarizeIssues keeps a single message as it is", () =>
    assert.deepStrictEqual(summarizeIssues([{ path: "a", message: "is missing" }]), [
      { path: "a", message: "is missing" }
    ]))
  it.prop(
    "summarizeIssues names every field exactly once",
    [FastCheck.array(FastCheck.record({ path: FastCheck.string(), message: FastCheck.string({ minLength: 1 }) }))],
    ([issues]) => {
      const named = summarizeIssues(issues).map(({ path }) => path)
      return (
        new Set(named).size === named.length &&
        issues.every(({ path }) => named.some((one) => one === path || one.startsWith(`${path}.`)))
      )
    }
  )
})
