import type { HttpServerRequest } from "@effect/platform"
import { Stream } from "effect"

const passedHeaders = ["accept", "content-type", "mcp-protocol-version"]

/** Converts a request for a transport that requires Web-standard requests; its body is already parsed. */
export const toWebRequest = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  new Request("http://localhost/mcp", {
    method: "POST",
    headers: passedHeaders.flatMap((name): Array<[string, string]> => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    })
  })

/** Reads the text of a body; an interrupted body ends. */
export const readTextStream = (body: ReadableStream<Uint8Array>) =>
  Stream.fromReadableStream(
    () => body,
    (cause) => cause
  ).pipe(
    Stream.decodeText(),
    Stream.catchAll(() => Stream.empty)
  )
