import { parseLiveFileName } from "@berth/domain/provisioning/live-streams/LiveFile"
import {
  decideReload,
  findLivePosition,
  parseLivePlaylist,
  withholdMissingTail
} from "@berth/domain/provisioning/live-streams/LivePlaylist"
import { refillAllowance } from "@berth/domain/provisioning/live-streams/PlaybackBandwidth"
import { decideLiveStreamStatus } from "@berth/domain/provisioning/live-streams/LiveStream"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Either, FastCheck as fc, Option } from "effect"

const parse = (text: string) => parseLivePlaylist(new TextEncoder().encode(text))
const isRefused = (text: string) => Either.isLeft(parse(text))

const segments = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => `#EXTINF:2.0,\nseg${first + index}.ts\n`).join("")
const playlist = (first: number, count: number, more = "") =>
  `#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:${first}\n${more}${segments(first, count)}`
const blocking = "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0\n#EXT-X-PART-INF:PART-TARGET=0.5\n"
const target = (segment: number, part?: number) => ({ segment, part: Option.fromNullable(part) })

describe("LiveFileName", () => {
  it("parseLiveFileName accepts what encoders write", () => {
    for (const name of ["index.m3u8", "seg0.ts", "init.mp4", "filePart271.0.mp4", "v0_1-2.m4s", "a.aac", "s.vtt"])
      assert.isTrue(Option.isSome(parseLiveFileName(name)), name)
  })

  it("parseLiveFileName rejects paths, other types and hidden files", () => {
    const names = ["", ".", "..", "../a.ts", "a/b.ts", "a\\b.ts", "a..ts", ".ts", "-a.ts", "a.exe", "a.ts.", "%2e.ts"]
    for (const name of [...names, "a.TS", "a.ts\n", "a\u0000.ts", "ä.ts", `${"a".repeat(98)}.ts`])
      assert.isTrue(Option.isNone(parseLiveFileName(name)), JSON.stringify(name))
  })

  it("parseLiveFileName accepts no text with a slash, a backslash or two dots in a row", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("/", "\\", "..", "%"), fc.string(), (before, trick, after) => {
        assert.isTrue(Option.isNone(parseLiveFileName(`${before}${trick}${after}.ts`)))
      })
    )
  })
})

describe("LivePlaylist", () => {
  it("parseLivePlaylist keeps a valid playlist byte for byte and lists its files", () => {
    const text = `${playlist(5, 2, '#EXT-X-MAP:URI="init.mp4"\n')}#EXT-X-PRELOAD-HINT:TYPE=PART,URI="seg7.0.mp4"\r\n`
    const { files, isEnded, text: kept } = Either.getOrThrow(parse(text))
    assert.deepStrictEqual([kept, isEnded], [text, false])
    assert.deepStrictEqual([...files], ["init.mp4", "seg5.ts", "seg6.ts", "seg7.0.mp4"])
    assert.isTrue(Either.getOrThrow(parse(`${text}#EXT-X-ENDLIST\n`)).isEnded)
  })

  it("parseLivePlaylist refuses a tag with a second address, whichever of them is a file name", () => {
    for (const tag of ['X-URI="a.mp4",URI="https://example.com/b.mp4"', 'URI="a.mp4",URI="https://example.com/b.mp4"'])
      assert.isTrue(isRefused(playlist(0, 1, `#EXT-X-MAP:${tag}\n`)), tag)
  })

  it("parseLivePlaylist replaces addresses of the ingest, which hold the stream key, by file names", () => {
    const base = "http://localhost:3000/live/ingest/secret-key/"
    const text = `#EXTM3U\n#EXT-X-MAP:URI="${base}init.mp4"\n#EXTINF:2,\n${base}seg0.m4s\n`
    const { files, text: kept } = Either.getOrThrow(parse(text))
    assert.deepStrictEqual([...files], ["init.mp4", "seg0.m4s"])
    assert.strictEqual(kept, '#EXTM3U\n#EXT-X-MAP:URI="init.mp4"\n#EXTINF:2,\nseg0.m4s\n')
  })

  it("parseLivePlaylist rejects other texts, foreign addresses and encrypted segments", () => {
    for (const text of ["", "hello", "\n#EXTM3U\n", " #EXTM3U\n"]) assert.isTrue(isRefused(text), JSON.stringify(text))
    const addresses = ["http://example.com/a.ts", "//example.com/a.ts", "../a.ts", "/etc/passwd", "javascript:alert(1)"]
    for (const address of [...addresses, "data:,a.ts", "a.ts?x=1", "http://x/live/ingest/key/../a.ts"]) {
      assert.isTrue(isRefused(`#EXTM3U\n#EXTINF:2,\n${address}\n`), address)
      assert.isTrue(isRefused(`#EXTM3U\n#EXT-X-MAP:URI="${address}"\n`), address)
    }
    assert.isTrue(isRefused('#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI="key.ts"\n'))
    assert.isFalse(isRefused("#EXTM3U\n#EXT-X-KEY:METHOD=NONE\n"))
    assert.isTrue(Either.isLeft(parseLivePlaylist(Uint8Array.of(0xff, 0xfe))))
  })

  it("parseLivePlaylist rejects characters that players read as the end of a line", () => {
    for (const character of ["\r", "\u000b", "\u000c", "\u0085", "\u2028", "\u2029", "\u0000"])
      assert.isTrue(
        isRefused(`#EXTM3U\n#EXTINF:2.0,title${character}https://other.example/a.ts\nseg0.ts\n`),
        JSON.stringify(character)
      )
    assert.isFalse(isRefused(playlist(0, 2).replaceAll("\n", "\r\n")))
  })

  it("parseLivePlaylist rejects lists of interstitials, which name addresses outside the stream", () => {
    const range = '#EXT-X-DATERANGE:ID="1",CLASS="com.apple.hls.interstitial",START-DATE="2026-01-01T00:00:00Z",'
    assert.isTrue(isRefused(playlist(0, 1, `${range}X-ASSET-LIST="https://other.example/list.json"\n`)))
    assert.isTrue(isRefused(playlist(0, 1, `${range}X-ASSET-URI="https://other.example/index.m3u8"\n`)))
  })

  it("withholdMissingTail drops the segments at the end that are not stored yet, and no others", () => {
    const whole = playlist(0, 4)
    const stored = (...numbers: ReadonlyArray<number>) => new Set(numbers.map((n) => `seg${n}.ts`))
    assert.strictEqual(withholdMissingTail(whole, stored(0, 1, 2, 3)), whole)
    assert.strictEqual(withholdMissingTail(whole, stored(0, 1)), playlist(0, 2))
    assert.strictEqual(withholdMissingTail(whole, stored(0, 1, 3)), whole, "a gap stays")
    assert.strictEqual(withholdMissingTail(`${whole}#EXT-X-ENDLIST\n`, stored(0, 1, 2)), playlist(0, 3))
    assert.strictEqual(withholdMissingTail(whole, stored()), playlist(0, 0))
  })

  it("withholdMissingTail is idempotent and ends with a stored segment", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 12 }), (present) => {
        const names = new Set(present.flatMap((there, index) => (there ? [`seg${index}.ts`] : [])))
        const once = withholdMissingTail(playlist(0, present.length), names)
        assert.strictEqual(withholdMissingTail(once, names), once)
        assert.strictEqual(findLivePosition(once).lastSegment, present.lastIndexOf(true))
      })
    )
  })

  it("decideReload waits for the next segment or part, and rejects one too far ahead", () => {
    const text = `${playlist(10, 3, blocking)}#EXT-X-PART:DURATION=0.5,URI="p13.0.mp4"\n`
    assert.deepStrictEqual(findLivePosition(text), { lastSegment: 12, parts: 1 })
    assert.strictEqual(decideReload(text, target(12)), "respond")
    assert.strictEqual(decideReload(text, target(13)), "wait")
    assert.strictEqual(decideReload(text, target(13, 0)), "respond")
    assert.strictEqual(decideReload(text, target(13, 1)), "wait")
    assert.strictEqual(decideReload(text, target(14)), "wait")
    assert.strictEqual(decideReload(text, target(15)), "reject")
    assert.strictEqual(decideReload(`${text}#EXT-X-ENDLIST\n`, target(13)), "respond")
    assert.strictEqual(decideReload(playlist(10, 3), target(99)), "respond", "the encoder announces no blocking")
  })
})

describe("Live stream decisions", () => {
  it("decideLiveStreamStatus is active until the broadcast ends or no upload came for 30 seconds", () => {
    const now = DateTime.unsafeMake("2026-01-01T00:01:00Z")
    const before = (seconds: number) => DateTime.subtract(now, { seconds })
    const status = (lastUploadAt: DateTime.Utc | null, endedAt: DateTime.Utc | null = null) =>
      decideLiveStreamStatus({ lastUploadAt, endedAt }, now)
    assert.deepStrictEqual([status(null), status(before(29)), status(before(30))], ["idle", "active", "idle"])
    assert.strictEqual(status(before(1), before(1)), "idle")
  })

  it("refillAllowance never exceeds one second's bytes and ignores a clock that goes back", () => {
    assert.deepStrictEqual(refillAllowance({ bytes: -500, at: 0 }, 1000, 250), { bytes: -250, at: 250 })
    assert.deepStrictEqual(refillAllowance({ bytes: 900, at: 0 }, 1000, 5000), { bytes: 1000, at: 5000 })
    assert.deepStrictEqual(refillAllowance({ bytes: 10, at: 50 }, 1000, 0), { bytes: 10, at: 50 })
  })
})
