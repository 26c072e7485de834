import { detectAudioKind } from "@berth/domain/gateway/speech/AudioContainer"
import { describe, assert, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0))

const sounds: ReadonlyArray<readonly [container: string, contentType: string, start: string]> = [
  ["wav", "audio/wav", "RIFF\x24\0\0\0WAVEfmt "],
  ["mp3", "audio/mpeg", "ID3\x04\0"],
  ["mp3", "audio/mpeg", "\xff\xfb\x90\x64"],
  ["mp3", "audio/mpeg", "\xff\xf3\x40\xc4"],
  ["ogg", "audio/ogg", "OggS\0\x02"],
  ["flac", "audio/flac", "fLaC\0\0"],
  ["m4a", "audio/mp4", "\0\0\0\x20ftypM4A \0"],
  ["mp4", "audio/mp4", "\0\0\0\x20ftypisom\0"],
  ["webm", "audio/webm", "\x1aE\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm"]
]

const others: ReadonlyArray<readonly [what: string, start: string]> = [
  ["nothing", ""],
  ["one byte", "\xff"],
  ["text", "Dear all,"],
  ["JSON", `{"audio":"x"}`],
  ["PNG", "\x89PNG\r\n\x1a\n"],
  ["JPEG", "\xff\xd8\xff\xe0"],
  ["PDF", "%PDF-1.7"],
  ["ZIP", "PK\x03\x04"],
  ["an AVI film", "RIFF\x24\0\0\0AVI LIST"],
  ["a WEBP picture", "RIFF\x24\0\0\0WEBPVP8 "],
  ["a HEIC picture", "\0\0\0\x20ftypheic\0"],
  ["Matroska that is no WEBM", "\x1aE\xdf\xa3\x9f\x42\x82\x88matroska"],
  ["a frame of AAC", "\xff\xf1\x50\x80"],
  ["UTF-16 text", "\xff\xfeH\0i\0"],
  ["set bits alone", "\xff\xff\xff\xff"]
]

describe("detectAudioKind", () => {
  it.each(sounds)("detectAudioKind recognizes %s", (container, contentType, start) => {
    assert.deepStrictEqual(detectAudioKind(bytes(start)), Option.some({ container, contentType }))
  })

  it.each(others)("detectAudioKind recognizes no audio in %s", (_, start) => {
    assert.deepStrictEqual(detectAudioKind(bytes(start)), Option.none())
  })

  it.prop(
    "detectAudioKind reads the first bytes only, at any offset in memory",
    [
      FastCheck.constantFrom(...sounds),
      FastCheck.uint8Array({ maxLength: 200 }),
      FastCheck.uint8Array({ maxLength: 20 })
    ],
    ([[container, , start], rest, before]) => {
      const all = Uint8Array.from([...before, ...bytes(start), ...rest])
      assert.deepStrictEqual(
        Option.map(detectAudioKind(all.subarray(before.length)), (kind) => kind.container),
        Option.some(container)
      )
    }
  )

  it.prop("detectAudioKind returns a result for any input", [FastCheck.uint8Array({ maxLength: 100 })], ([any]) => {
    assert.isTrue(Option.isOption(detectAudioKind(any)))
  })
})
