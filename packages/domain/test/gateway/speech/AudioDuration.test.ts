import { readAudioDuration } from "@berth/domain/gateway/speech/AudioDuration"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck, Option } from "effect"

const ascii = (text: string) => Array.from(text, (character) => character.charCodeAt(0))
const big = (value: number, length: number) =>
  Array.from({ length }, (_, at) => Math.floor(value / 256 ** (length - 1 - at)) % 256)
const little = (value: number, length: number) => big(value, length).toReversed()
const file = (...parts: ReadonlyArray<ReadonlyArray<number>>) => Uint8Array.from(parts.flat())
const zeros = (length: number) => Array.from({ length }, () => 0)

const wav = (declared: number, data: number) =>
  file(
    ascii("RIFF"),
    little(36 + data, 4),
    ascii("WAVEfmt "),
    little(16, 4),
    zeros(8),
    little(100, 4),
    zeros(4),
    ascii("data"),
    little(declared, 4),
    zeros(data)
  )

/** A frame of MPEG-1 layer III at 128 kbit/s and 44.1 kHz. */
const frame = [0xff, 0xfb, 0x90, 0x00, ...zeros(413)]

const oggPage = (granule: number, body: ReadonlyArray<number>) => [
  ...ascii("OggS"),
  0,
  0,
  ...little(granule, 8),
  ...zeros(12),
  1,
  body.length,
  ...body
]

const box = (name: string, ...body: ReadonlyArray<ReadonlyArray<number>>) => [
  ...big(8 + body.flat().length, 4),
  ...ascii(name),
  ...body.flat()
]
const mvhd = (timescale: number, duration: number) =>
  box("mvhd", zeros(4), zeros(8), big(timescale, 4), big(duration, 4))

const element = (id: number, idLength: number, body: ReadonlyArray<number>) => [
  ...big(id, idLength),
  0x80 + body.length,
  ...body
]
const webmHead = [...element(0x1a45dfa3, 4, element(0x4282, 2, ascii("webm"))), ...big(0x18538067, 4), 0xff]
const block = (ticks: number) => element(0xa3, 1, [0x81, ...big(ticks, 2), 0])

const flac = (sampleRate: number, samples: number) =>
  file(ascii("fLaC"), zeros(4), zeros(10), big(sampleRate * 16, 3), [0], big(samples, 4))

describe("readAudioDuration", () => {
  for (const [name, bytes, seconds] of [
    ["a WAV file", wav(500, 500), 5],
    ["a WAV file that declares more than it holds", wav(0xffffffff, 300), 3],
    ["a WAV file that declares nothing", wav(0, 300), 3],
    ["an MP3 file", file(...Array.from({ length: 100 }, () => frame)), 100 * (1152 / 44_100)],
    ["an MP3 file with a tag", file(ascii("ID3"), [4, 0, 0, 0, 0, 0, 5], zeros(5), frame), 1152 / 44_100],
    ["Ogg Opus", file(oggPage(0, ascii("OpusHead")), oggPage(480_000, [1]), oggPage(96_000, [1])), 10],
    [
      "Ogg Vorbis",
      file(oggPage(0, [1, ...ascii("vorbis"), ...zeros(5), ...little(8_000, 4)]), oggPage(16_000, [1])),
      2
    ],
    ["FLAC", flac(44_100, 441_000), 10],
    ["MP4", file(box("ftyp", ascii("isom")), box("moov", mvhd(1_000, 61_500))), 61.5],
    [
      "fragmented MP4",
      file(box("ftyp", ascii("M4A ")), box("moov", mvhd(1_000, 0), box("mvex", box("mehd", zeros(4), big(5_000, 4))))),
      5
    ],
    ["WebM with a duration", file(webmHead, element(0x1549a966, 4, element(0x4489, 2, [0x46, 0x1c, 0x40, 0x00]))), 10],
    [
      "WebM of a recorder that streams",
      file(webmHead, big(0x1f43b675, 4), [0xff], element(0xe7, 1, big(30_000, 2)), block(500)),
      30.5
    ]
  ] as const)
    it(`readAudioDuration returns the seconds of ${name}`, () => {
      const read = Option.getOrThrow(readAudioDuration(bytes))
      assert.approximately(read, seconds, 1e-6)
    })

  it("readAudioDuration returns none where the container has no duration", () => {
    for (const bytes of [
      flac(44_100, 0),
      file(box("ftyp", ascii("isom")), box("moov", mvhd(1_000, 0))),
      file(webmHead)
    ])
      assert.isTrue(Option.isNone(readAudioDuration(bytes)))
  })

  it("readAudioDuration reads no integer of the length that a WebM file names", () => {
    const size = [0x01, ...big(2 ** 48, 7)]
    for (const id of [[0xe7], big(0x2ad7b1, 3)])
      assert.isTrue(Option.isNone(readAudioDuration(file(webmHead, id, size, zeros(8)))))
  })

  it.prop(
    "readAudioDuration ends for any bytes after a known header",
    [
      FastCheck.constantFrom(ascii("fLaC"), ascii("OggS"), ascii("ID3"), [...webmHead], box("ftyp", ascii("isom"))),
      FastCheck.uint8Array({ maxLength: 200 })
    ],
    ([start, rest]) => {
      readAudioDuration(file([...start], [...rest]))
    }
  )
})
