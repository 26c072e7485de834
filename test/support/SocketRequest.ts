import { Effect } from "effect"
import { request } from "node:http"

/** Sends a request to an HTTP server on a Unix socket. Returns the response's body. */
export const requestOverSocket = (
  socketPath: string,
  options: { readonly method: string; readonly path: string; readonly headers: Readonly<Record<string, string>> },
  body: string
) =>
  Effect.async<string, Error>((resume) => {
    const sent = request({ ...options, socketPath }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (text += chunk))
      response.once("end", () => resume(Effect.succeed(text)))
    })
    sent.once("error", (cause) => resume(Effect.fail(cause)))
    sent.end(body)
  })
