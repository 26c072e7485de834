import { PageNotReadable } from "@berth/domain/skills/web/WebPages"
import { makeFetchWebPageTool } from "@berth/runtime/skills/web/FetchWebPageTool"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { sampleAgent } from "../../AgentSamples.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const url = new URL("https://example.com/page")
const turn = { ...sampleAgent, messageId: "msg_1" }

const read = (body: Stream.Stream<Uint8Array, PageNotReadable>, contentType = "text/html", offset = 0) =>
  makeFetchWebPageTool({ open: () => Effect.succeed({ url, contentType, body }) }).run(
    JSON.stringify({ url: url.href, offset }),
    turn
  )

it.effect("FetchWebPageTool decodes a page by its content type", () =>
  Effect.gen(function* () {
    for (const [type, body, expected] of [
      ["text/html", bytes("<title>T</title><p>☺"), "Title: T\n\n☺"],
      ["text/plain; charset=utf-8", bytes("<p>☺"), "\n\n<p>☺"],
      ["application/ld+json", bytes(`{"a":1}`), `{"a":1}`],
      [`text/plain; charset="iso-8859-1"`, new Uint8Array([0xe9]), "é"],
      ["text/plain; charset=klingon", bytes("☺"), "☺"]
    ] as const)
      assert.include(yield* read(Stream.make(body), type), expected)
  })
)

it.effect("FetchWebPageTool receives no more of an endless page than it reads", () =>
  Effect.gen(function* () {
    let fetchCount = 0
    const piece = "<p>word word word</p>".repeat(1_000)
    yield* read(
      Stream.repeatEffect(
        Effect.sync(() => {
          fetchCount += piece.length
          return bytes(piece)
        })
      )
    )
    assert.isBelow(fetchCount, 200_000)
  })
)

it.effect("FetchWebPageTool returns long pages in parts, and reports a page that breaks off", () =>
  Effect.gen(function* () {
    const long = Stream.make(bytes(`<title>Long</title>${"0123456789".repeat(3_000)}`))
    const first = yield* read(long)
    assert.isTrue(first.startsWith("Address: https://example.com/page\nTitle: Long\n\n0123456789"))
    assert.include(first, "[There is more. Go on with offset 18000.]")
    const second = yield* read(long, "text/html", 18_000)
    assert.notInclude(second, "There is more")
    assert.isBelow(second.length, 12_100)
    assert.include(yield* read(Stream.empty), "[The page has no text.]")
    const cut = Stream.concat(Stream.make(bytes("half")), Stream.fail(new PageNotReadable({ reason: "It broke off." })))
    assert.strictEqual((yield* Effect.flip(read(cut))).reason, "It broke off.")
  })
)
