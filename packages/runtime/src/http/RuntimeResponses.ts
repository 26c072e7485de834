import { encodeTypedSseEvent, sseKeepAlive, sseKeepAliveSeconds } from "@berth/api/http/Sse"
import type { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import type { RuntimeRejection } from "@berth/api/runtime/RuntimeErrors"
import { Duration, Effect } from "effect"
import type { ServerResponse } from "node:http"
import type { TurnRunner } from "../interaction/TurnExecution.ts"

export const respond = (response: ServerResponse, status: number, body: object) => {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    .end(text)
}

export const respondRejection = (response: ServerResponse, { error, message, status }: RuntimeRejection) => {
  if (response.headersSent) response.destroy()
  else respond(response, status, { error, message } satisfies typeof RuntimeErrorBody.Type)
}

const keepAliveMs = Duration.toMillis(Duration.seconds(sseKeepAliveSeconds))

const awaitDrain = (response: ServerResponse) =>
  Effect.async<void>((resume) => {
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => response.off("drain", onDrain))
  })

/** Hot path: the turn writes its response directly, since a stream takes some hundred operations. */
export const streamTurn = (run: TurnRunner, response: ServerResponse) =>
  Effect.suspend(() => {
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no"
    })
    const keepAlives = setInterval(() => response.write(sseKeepAlive), keepAliveMs)
    // The first frame confirms that the turn is accepted.
    response.write(sseKeepAlive)
    return Effect.ensuring(
      run((events) => (response.write(events.map(encodeTypedSseEvent).join("")) ? undefined : awaitDrain(response))),
      Effect.sync(() => {
        clearInterval(keepAlives)
        response.end()
      })
    )
  })
