import { makeTextReader } from "@berth/runtime/skills/web/PageText"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, FastCheck } from "effect"
import { measureCpuTime } from "../../../../../test/support/CpuTime.ts"

const read = (html: string, limit = 10_000) => {
  const reader = makeTextReader(limit)
  reader.write(html)
  return reader.end()
}

it("PageText keeps the visible text and its layout", () => {
  const page = `<!doctype html><html><head><title> A &amp;
    B </title><style>p { color: red }</style><script>var x = "<p>no</p>"</script></head>
    <body><h1>Hello,&nbsp;world</h1><p>One <b>bold</b>word,
    and   <a href="/x">a link</a>.</p><script>evil()</script>
    <ul><li>first</li><li>second <i>item</i></li></ul>
    <table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>line<br>break<div>block</div>
    <noscript>no</noscript><template>no</template><p>1 &lt; 2 &copy; &#128512;</p></body></html>`
  assert.deepStrictEqual(read(page), {
    title: "A & B",
    text: [
      "Hello, world",
      "",
      "One boldword, and a link.",
      "",
      "- first",
      "- second item",
      "",
      "a b",
      "c d",
      "",
      "line",
      "break",
      "block",
      "",
      "1 < 2 © 😀"
    ].join("\n")
  })
})

it("PageText reads pages that are not well-formed", () => {
  assert.deepStrictEqual(read("just text"), { title: "", text: "just text" })
  assert.strictEqual(read("<p>one<p>two<b>three").text, "one\n\ntwothree")
  assert.strictEqual(read("<script>never closed <p>text").text, "")
  assert.include(read("<style>x</style></script></p>after").text, "after")
  assert.strictEqual(read("").text, "")
})

it("PageText stops at its limit", () => {
  const reader = makeTextReader(100)
  let taken = 0
  while (reader.write("<p>some words of a page</p>")) taken += 1
  assert.isBelow(taken, 10)
  assert.strictEqual(reader.end().text.length, 100)
})

it.prop("PageText reads the same text wherever a page is cut", [FastCheck.array(FastCheck.nat(300))], ([cuts]) => {
  const page =
    `<title>t&eacute;xt</title><h1>One</h1><p>two &amp; three <b>fo</b>ur</p><script>x</script><ul><li>five &lt;</li></ul>`.repeat(
      2
    )
  const at = [0, ...cuts.map((cut) => cut % page.length).sort((a, b) => a - b), page.length]
  const reader = makeTextReader(10_000)
  for (const [index, from] of at.entries()) reader.write(page.slice(from, at[index + 1] ?? page.length))
  assert.deepStrictEqual(reader.end(), read(page))
})

it("PageText reads hostile pages in bounded time", () => {
  const hostile = {
    nested: "<i>".repeat(700_000) + "</b>".repeat(700_000),
    unopened: "</b>".repeat(1_000_000),
    unclosed: "<".repeat(5_000_000),
    comment: "<!--".repeat(1_000_000),
    entities: "&".repeat(5_000_000),
    attributes: `<p ${"a ".repeat(2_000_000)}>`,
    quotes: `<p a="${"x".repeat(5_000_000)}`
  }
  for (const [name, page] of Object.entries(hostile)) {
    const readAll = Effect.sync(() => {
      const reader = makeTextReader(100_000)
      for (let at = 0; at < page.length && reader.write(page.slice(at, at + 65_536)); at += 65_536);
      reader.end()
    })
    const [took] = Effect.runSync(measureCpuTime(readAll))
    assert.deepStrictEqual([name, Duration.lessThan(took, "5 seconds")], [name, true])
  }
})
