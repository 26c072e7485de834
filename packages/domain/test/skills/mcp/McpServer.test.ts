import { changeMcpServers, maskMcpUrl, maximumMcpServers, redactMcpSecrets } from "@berth/domain/skills/mcp/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Either, Record, Redacted } from "effect"

const secret = (value: string) => ({ Authorization: Redacted.make(value) })
const stored = { name: "notes", url: "https://notes.example/mcp", headers: secret("Bearer sk-notes") }
const input = { name: "notes", url: "https://notes.example/mcp" }
const change = (...servers: Parameters<typeof changeMcpServers>[1]) =>
  changeMcpServers([stored], servers, { httpsOnly: true })

describe("changeMcpServers", () => {
  it("changeMcpServers keeps the secrets of a server whose address stays, and replaces them when they are given", () => {
    const headersOf = (result: ReturnType<typeof change>) =>
      Either.getOrThrow(result).map(({ headers }) => Record.map(headers, Redacted.value))
    assert.deepStrictEqual(headersOf(change(input)), [{ Authorization: "Bearer sk-notes" }])
    assert.deepStrictEqual(headersOf(change({ ...input, headers: {} })), [{}])
    assert.deepStrictEqual(headersOf(change({ ...input, headers: secret("Bearer new") })), [
      { Authorization: "Bearer new" }
    ])
    assert.deepStrictEqual(headersOf(change({ name: "other", url: "https://other.example/" })), [{}])
  })

  it("changeMcpServers keeps the query of a masked address, and takes a new one", () => {
    const search = {
      name: "search",
      url: "https://search.example/mcp?key=sk%2Fsearch&v=1",
      headers: secret("Bearer sk")
    }
    const urlOf = (url: string) =>
      Either.map(
        changeMcpServers([search], [{ name: "search", url, headers: {} }], { httpsOnly: true }),
        ([server]) => server?.url
      )
    const masked = "https://search.example/mcp?key=***&v=***"
    assert.strictEqual(maskMcpUrl(search.url), masked)
    assert.strictEqual(maskMcpUrl(stored.url), stored.url)
    assert.deepStrictEqual(urlOf(masked), Either.right(search.url))
    assert.deepStrictEqual(
      urlOf("https://search.example/mcp?key=new"),
      Either.right("https://search.example/mcp?key=new")
    )
    const kept = changeMcpServers([search], [{ name: "search", url: masked }], { httpsOnly: true })
    assert.deepStrictEqual(Either.getOrThrow(kept), [search])
  })

  const wrong: ReadonlyArray<readonly [string, Parameters<typeof changeMcpServers>[1], RegExp]> = [
    ["a new address without the secrets", [{ ...input, url: "https://elsewhere.example/" }], /Give `headers` of notes/],
    ["no URL", [{ ...input, url: "notes" }], /absolute URL/],
    ["plain HTTP", [{ ...input, url: "http://notes.example/" }], /https/],
    ["another scheme", [{ ...input, url: "file:///etc/passwd" }], /https/],
    ["a password in the URL", [{ ...input, url: "https://a:b@notes.example/" }], /password/],
    ["a long URL", [{ ...input, url: `https://notes.example/${"a".repeat(3000)}` }], /characters/],
    [
      "a masked query of another address",
      [{ ...input, url: "https://notes.example/?key=***" }],
      /query of `url` of notes/
    ],
    ["a name twice", [input, input], /twice/],
    ["too many", Array.from({ length: maximumMcpServers + 1 }, (_, n) => ({ ...input, name: `s${n}` })), /at most/],
    ["a header of the transport", [{ ...input, headers: { Host: Redacted.make("a") } }], /Host cannot be set/],
    ["a header of the protocol", [{ ...input, headers: { "Mcp-Session-Id": Redacted.make("a") } }], /cannot be set/],
    ["a line break in a value", [{ ...input, headers: secret("a\r\nX: b") }], /printable ASCII/],
    ["a long value", [{ ...input, headers: secret("a".repeat(5000)) }], /at most/],
    [
      "many headers",
      [{ ...input, headers: Record.fromIterableWith(Array(17).keys(), (n) => [`x-${n}`, Redacted.make("a")]) }],
      /more than/
    ]
  ]
  for (const [what, servers, reason] of wrong)
    it(`changeMcpServers refuses ${what} in a sentence without secrets`, () => {
      const refused = change(...servers)
      assert.match(Either.isLeft(refused) ? refused.left.reason : "", reason)
    })
})

it("maskMcpUrl masks a query without names, which no other address takes over", () => {
  const tokenOnly = { ...stored, headers: {}, url: "https://notes.example/mcp?sk-notes" }
  const masked = "https://notes.example/mcp?***"
  assert.strictEqual(maskMcpUrl(tokenOnly.url), masked)
  const changeTo = (url: string) => changeMcpServers([tokenOnly], [{ name: tokenOnly.name, url }], { httpsOnly: true })
  assert.deepStrictEqual(changeTo(masked), Either.right([tokenOnly]))
  assert.isTrue(Either.isLeft(changeTo("https://other.example/mcp?***")))
  assert.strictEqual(redactMcpSecrets(tokenOnly, "No sk-notes"), "No [redacted]")
})

it("redactMcpSecrets removes the values of the query as they are sent", () => {
  const server = { headers: {}, url: "https://notes.example/mcp?key=ab+cd/ef==" }
  assert.strictEqual(redactMcpSecrets(server, "No ab+cd/ef== here"), "No [redacted] here")
})

it("redactMcpSecrets removes the values of headers, with and without their scheme, and those of the query", () => {
  const server = { ...stored, url: "https://notes.example/mcp?key=sk%2Fquery" }
  assert.strictEqual(
    redactMcpSecrets(server, "You sent Bearer sk-notes, that is sk-notes, to ?key=sk%2Fquery, that is sk/query."),
    "You sent [redacted], that is [redacted], to ?key=[redacted], that is [redacted]."
  )
})
