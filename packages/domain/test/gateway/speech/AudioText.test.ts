import { decodeAudioText } from "@berth/domain/gateway/speech/AudioText"
import { describe, assert, it } from "@effect/vitest"
import { Either, FastCheck } from "effect"

const someBytes = FastCheck.uint8Array({ minLength: 1, maxLength: 300 })
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

describe("decodeAudioText", () => {
  it.prop(
    "decodeAudioText decodes base64 in every common notation",
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
      assert.deepStrictEqual(decodeAudioText(write(base64(bytes))), Either.right(bytes))
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
    "AA=A",
    "AAAA==="
  ])("decodeAudioText rejects %j without quoting it", (text) => {
    const refused = decodeAudioText(text)
    assert.isTrue(Either.isLeft(refused))
    assert.match(
      Either.getOrElse(Either.flip(refused), () => ""),
      /^(must|is no data)/
    )
  })

  // The size of the largest body: a search of the padding from each character would take days.
  it("decodeAudioText rejects 25 MiB of padding before another character", () => {
    assert.isTrue(Either.isLeft(decodeAudioText(`${"=".repeat(25 * 1024 * 1024)}A`)))
  })

  it.prop("decodeAudioText returns a result for any input", [FastCheck.string()], ([text]) => {
    assert.isTrue(Either.isEither(decodeAudioText(text)))
  })
})
