import type { HttpServerRequest } from "@effect/platform"
import { Stream } from "effect"

const passedHeaders = ["accept", "content-type", "mcp-protocol-version"]

/** The request for a transport that takes Web-standard ones; its body is parsed already. */
export const toWebRequest = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  new Request("http://localhost/mcp", {
    method: "POST",
    headers: passedHeaders.flatMap((name): Array<[string, string]> => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    })
  })

/** The text of a body; one that breaks off ends. */
export const readTextStream = (body: ReadableStream<Uint8Array>) =>
  Stream.fromReadableStream(
    () => body,
    (cause) => cause
  ).pipe(
    Stream.decodeText(),
    Stream.catchAll(() => Stream.empty)
  )
