import { Either, Encoding } from "effect"

const dataUrl = /^data:([^,;]*)((?:;[^,;]*)*),/i

/** Decodes audio from JSON: base64 or base64url, plain or as a `data:` URL. Left: the fault. */
export const decodeAudioText = (text: string): Either.Either<Uint8Array, string> => {
  const head = dataUrl.exec(text.slice(0, 500))
  if (head === null && text.slice(0, 5).toLowerCase() === "data:") return Either.left("is no data: URL")
  if (head !== null && !/;\s*base64$/i.test(head[2] ?? "")) return Either.left("must be base64 where it is a data: URL")
  const base64 = head === null ? text : text.slice(head[0].length)
  const plain = base64
    .replace(/\s/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/={1,2}$/, "")
  if (plain === "") return Either.left("must not be empty")
  const padded = plain.padEnd(Math.ceil(plain.length / 4) * 4, "=")
  return Either.mapLeft(Encoding.decodeBase64(padded), () => "must be base64")
}
