import { fetchPage, maximumPageBytes } from "@berth/runtime/skills/web/PageFetch"
import { makeFetchWebPageTool } from "@berth/runtime/skills/web/FetchWebPageTool"
import { Internet, type WebPageResponse, HostUnreachable } from "@berth/runtime/skills/web/Internet"
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { sampleAgent } from "../../AgentSamples.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Stream.Stream<Uint8Array, HostUnreachable>
}

/** An internet of a few hosts, which writes down what was asked for and what was closed. */
const internet = (
  hosts: Readonly<Record<string, ReadonlyArray<string> | (() => ReadonlyArray<string>)>>,
  pages: Readonly<Record<string, Answer>>
) => {
  const asked: Array<readonly [string, ReadonlyArray<string>]> = []
  const resolved: Array<string> = []
  const open = { now: 0 }
  const service = Internet.of({
    resolve: (host) =>
      Effect.suspend(() => {
        resolved.push(host)
        const found = hosts[host]
        if (found === undefined) return new HostUnreachable({ reason: "There is no host of that name." })
        return Effect.succeed(typeof found === "function" ? found() : found)
      }),
    ownAddresses: Effect.succeed(["93.184.216.1"]),
    get: (url, addresses) =>
      Effect.acquireRelease(
        Effect.sync((): WebPageResponse => {
          asked.push([url.href, addresses])
          open.now += 1
          const { body, headers, status } = pages[url.href] ?? { status: 404 }
          return {
            status: status ?? 200,
            header: (name) => ({ "content-type": "text/html", ...headers })[name] ?? null,
            body: body ?? Stream.make(bytes("<title>Title</title><p>text</p>"))
          }
        }),
        () => Effect.sync(() => (open.now -= 1))
      )
  })
  return { service, asked, resolved, open }
}

const fetched = (net: ReturnType<typeof internet>, url: string, limit = 1_000) =>
  fetchPage(net.service, url, limit).pipe(
    Effect.match({
      onFailure: ({ reason }) => reason,
      onSuccess: ({ text, title, url }) => `${url.href} ${title} ${text}`
    })
  )

const good = { "example.com": ["1.1.1.1", "1.0.0.1"], "other.example": ["9.9.9.9"], inside: ["10.0.0.1"] }

it.effect("PageFetch reads a page at the addresses that were checked", () =>
  Effect.gen(function* () {
    const net = internet(good, { "https://example.com/": {} })
    assert.strictEqual(yield* fetched(net, "https://example.com"), "https://example.com/ Title text")
    assert.deepStrictEqual(net.asked, [["https://example.com/", ["1.1.1.1", "1.0.0.1"]]])
    assert.strictEqual(net.open.now, 0)
  })
)

it.effect("PageFetch connects to public addresses only, whatever the name", () =>
  Effect.gen(function* () {
    const hosts = {
      ...good,
      "metadata.google.internal": ["169.254.169.254"],
      localhost: ["127.0.0.1", "::1"],
      mixed: ["1.1.1.1", "192.168.0.1"],
      mapped: ["::ffff:7f00:1"],
      "own.example": ["93.184.216.1"],
      "127.0.0.1": ["127.0.0.1"],
      "::1": ["::1"],
      none: []
    }
    const net = internet(hosts, {})
    for (const host of [
      ...Object.keys(hosts)
        .slice(2)
        .filter((it) => it !== "::1"),
      "[::1]",
      "2130706433",
      "0x7f.1"
    ])
      assert.match(yield* fetched(net, `http://${host}/`), /not on the public internet|has no address/)
    assert.deepStrictEqual(net.asked, [])
    assert.strictEqual(yield* fetched(net, "http://nowhere/"), "There is no host of that name.")
    assert.include(yield* fetched(net, "file:///etc/passwd"), "Only addresses")
  })
)

it.effect("PageFetch resolves a host once, so that its address cannot change after the check", () =>
  Effect.gen(function* () {
    let times = 0
    const rebinding = () => (times++ === 0 ? ["1.1.1.1"] : ["127.0.0.1"])
    const net = internet({ "rebind.example": rebinding }, { "http://rebind.example/": {} })
    assert.include(yield* fetched(net, "http://rebind.example/"), "text")
    assert.deepStrictEqual(net.resolved, ["rebind.example"])
    assert.deepStrictEqual(net.asked, [["http://rebind.example/", ["1.1.1.1"]]])
    // Each page is checked separately.
    assert.include(yield* fetched(net, "http://rebind.example/"), "not on the public internet")
  })
)

it.effect("PageFetch follows redirects to public addresses only, five at most", () =>
  Effect.gen(function* () {
    const to = (location: string, status = 302): Answer => ({ status, headers: { location } })
    const net = internet(good, {
      "https://example.com/": to("/second", 301),
      "https://example.com/second": to("https://other.example/third", 307),
      "https://other.example/third": {},
      "https://example.com/in": to("http://inside/secret"),
      "https://example.com/file": to("file:///etc/passwd"),
      "https://example.com/port": to("http://other.example:22/"),
      "https://example.com/loop": to("/loop"),
      "https://example.com/nowhere": to("http://[oops")
    })
    assert.strictEqual(yield* fetched(net, "https://example.com/"), "https://other.example/third Title text")
    assert.include(yield* fetched(net, "https://example.com/in"), "not on the public internet")
    assert.include(yield* fetched(net, "https://example.com/file"), "Only addresses")
    assert.include(yield* fetched(net, "https://example.com/port"), "port")
    assert.include(yield* fetched(net, "https://example.com/nowhere"), "no address")
    const before = net.asked.length
    assert.include(yield* fetched(net, "https://example.com/loop"), "more than 5 times")
    assert.strictEqual(net.asked.length - before, 6)
    assert.notInclude(
      net.asked.map(([url]) => url),
      "http://inside/secret"
    )
    assert.strictEqual(net.open.now, 0)
  })
)

it.effect("PageFetch reads text of many kinds, and nothing else", () =>
  Effect.gen(function* () {
    const typed = (type: string, body: Uint8Array): Answer => ({
      headers: { "content-type": type },
      body: Stream.make(body)
    })
    const net = internet(good, {
      "https://example.com/plain": typed("text/plain; charset=utf-8", bytes("<p>☺")),
      "https://example.com/json": typed("application/ld+json", bytes(`{"a":1}`)),
      "https://example.com/latin": typed(`text/plain; charset="iso-8859-1"`, new Uint8Array([0xe9])),
      "https://example.com/odd": typed("text/plain; charset=klingon", bytes("☺")),
      "https://example.com/png": typed("image/png", new Uint8Array([0x89])),
      "https://example.com/zip": typed("application/octet-stream", new Uint8Array([0x50]))
    })
    assert.include(yield* fetched(net, "https://example.com/plain"), "<p>☺")
    assert.include(yield* fetched(net, "https://example.com/json"), `{"a":1}`)
    assert.include(yield* fetched(net, "https://example.com/latin"), "é")
    assert.include(yield* fetched(net, "https://example.com/odd"), "☺")
    for (const kind of ["png", "zip"])
      assert.include(yield* fetched(net, `https://example.com/${kind}`), "not text but a file of another kind")
    assert.strictEqual(yield* fetched(net, "https://example.com/missing"), "The page answered with status 404.")
  })
)

it.effect("PageFetch receives no more of an endless page than it reads", () =>
  Effect.gen(function* () {
    let given = 0
    const endless = (piece: string): Answer => ({
      body: Stream.repeatEffect(
        Effect.sync(() => {
          given += piece.length
          return bytes(piece)
        })
      )
    })
    // All text: enough is there soon. No text at all: the limit of bytes ends it.
    for (const [piece, most] of [
      ["<p>word word word</p>".repeat(1_000), 200_000],
      [`<script>${"x".repeat(50_000)}</script>`, maximumPageBytes + 200_000]
    ] as const) {
      given = 0
      const net = internet(good, { "https://example.com/": endless(piece) })
      yield* fetched(net, "https://example.com/")
      assert.isBelow(given, most)
      assert.strictEqual(net.open.now, 0)
    }
  })
)

it.effect("PageFetch reports a page that breaks off, and returns long pages in parts", () =>
  Effect.gen(function* () {
    const net = internet(good, {
      "https://example.com/cut": {
        body: Stream.concat(Stream.make(bytes("half")), Stream.fail(new HostUnreachable({ reason: "It broke off." })))
      },
      "https://example.com/long": { body: Stream.make(bytes(`<title>Long</title>${"0123456789".repeat(3_000)}`)) },
      "https://example.com/empty": { body: Stream.empty }
    })
    assert.strictEqual(yield* fetched(net, "https://example.com/cut"), "It broke off.")
    const tool = makeFetchWebPageTool(net.service)
    const call = (args: unknown) => tool.run(JSON.stringify(args), sampleAgent)
    const first = yield* call({ url: "https://example.com/long" })
    assert.isTrue(first.startsWith("Address: https://example.com/long\nTitle: Long\n\n0123456789"))
    assert.include(first, "[There is more. Go on with offset 18000.]")
    const second = yield* call({ url: "https://example.com/long", offset: 18_000 })
    assert.notInclude(second, "There is more")
    assert.isBelow(second.length, 12_100)
    assert.include(yield* call({ url: "https://example.com/empty" }), "[The page has no text.]")
  })
)
