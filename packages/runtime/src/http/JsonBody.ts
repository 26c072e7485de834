import { runtimeBodyLimit } from "@berth/api/runtime/RuntimeContract"
import { RuntimeErrors, type RuntimeRejection } from "@berth/api/runtime/RuntimeErrors"
import { Effect, Either, Schema } from "effect"
import type { IncomingMessage } from "node:http"
import { rejectInvalidFields, RequestRejected } from "./RuntimeErrorResponses.ts"

/** Whether the declared length exceeds the limit. */
export const exceedsBodyLimit = ({ headers }: IncomingMessage): boolean =>
  Number(headers["content-length"] ?? 0) > runtimeBodyLimit

const reject = (rejection: RuntimeRejection) => new RequestRejected({ rejection })

const parse = (chunks: ReadonlyArray<Buffer>): Either.Either<unknown, RequestRejected> =>
  Either.try({
    try: (): unknown => JSON.parse(Buffer.concat(chunks).toString("utf8")),
    catch: () => reject(RuntimeErrors.malformedBody)
  })

/** A body above the limit is discarded. */
const readJson = (request: IncomingMessage): Effect.Effect<unknown, RequestRejected> =>
  Effect.async((resume) => {
    let chunks: Array<Buffer> = []
    let length = 0
    request
      .on("data", (chunk: Buffer) => {
        length += chunk.length
        if (length <= runtimeBodyLimit) chunks.push(chunk)
        else {
          chunks = []
          resume(reject(RuntimeErrors.bodyTooLarge))
        }
      })
      .once("end", () => resume(parse(chunks)))
  })

export const makeBodyReader = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (request: IncomingMessage) =>
    Effect.flatMap(readJson(request), (json) => Either.mapLeft(decode(json), rejectInvalidFields))
}
