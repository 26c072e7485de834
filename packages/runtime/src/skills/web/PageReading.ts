import { findTextKind, type PageNotReadable, type WebPage } from "@berth/domain/skills/web/WebPages"
import { Effect, Either, Stream } from "effect"
import { makeTextReader, type PageText } from "./PageText.ts"

const decoderOf = (contentType: string): InstanceType<typeof TextDecoder> => {
  const name = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? "utf-8"
  return Either.getOrElse(
    Either.try(() => new TextDecoder(name)),
    () => new TextDecoder()
  )
}

/** Returns at most `limit` characters and then stops receiving. */
export const readPage = ({ body, contentType }: WebPage, limit: number): Effect.Effect<PageText, PageNotReadable> =>
  Effect.suspend(() => {
    const decoder = decoderOf(contentType)
    const html = makeTextReader(limit)
    const isHtml = findTextKind(contentType) === "html"
    let plain = ""
    const take = (chunk: Uint8Array): boolean => {
      const text = decoder.decode(chunk, { stream: true })
      if (isHtml) return html.write(text)
      plain += text
      return plain.length < limit
    }
    return body.pipe(
      Stream.rechunk(1),
      Stream.takeWhile(take),
      Stream.runDrain,
      Effect.map(() => (isHtml ? html.end() : { title: "", text: plain.slice(0, limit) }))
    )
  })
