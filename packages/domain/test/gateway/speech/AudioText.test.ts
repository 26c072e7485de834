import { decodeAudioText } from "@berth/domain/gateway/speech/AudioText"
import { describe, expect, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const someBytes = FastCheck.uint8Array({ minLength: 1, maxLength: 300 })
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

describe("audioOfText", () => {
  it.prop(
    "reads base64 in every way that callers write it",
    [
      someBytes,
      FastCheck.constantFrom(
        (text: string) => text,
        (text: string) => text.replace(/=+$/, ""),
        (text: string) => text.replaceAll("+", "-").replaceAll("/", "_"),
        (text: string) => text.replace(/(.{76})/g, "$1\r\n"),
        (text: string) => `data:audio/wav;base64,${text}`,
        (text: string) => `data:audio/webm;codecs=opus;base64,${text}`,
        (text: string) => `DATA:;BASE64,${text}`
      )
    ],
    ([bytes, write]) => {
      expect(decodeAudioText(write(base64(bytes)))).toEqual(Either.right(bytes))
    }
  )

  it.each([
    "",
    "  ",
    "====",
    "data:audio/wav;base64,",
    "data:audio/wav,hello",
    "data:",
    "a",
    "äöü=",
    "AAAA$AAA",
    "AA=A"
  ])("refuses %j without quoting it", (text) => {
    const refused = decodeAudioText(text)
    expect(Either.isLeft(refused)).toBe(true)
    expect(Either.getOrElse(Either.flip(refused), () => "")).toMatch(/^(must|is no data)/)
  })

  it.prop("is total", [FastCheck.string()], ([text]) => {
    expect(Either.isEither(decodeAudioText(text))).toBe(true)
  })
})
