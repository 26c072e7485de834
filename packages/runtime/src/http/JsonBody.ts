import { runtimeBodyLimit } from "@berth/api/runtime/RuntimeContract"
import { RuntimeErrors, type RuntimeRejection } from "@berth/api/runtime/RuntimeErrors"
import { Effect, Either, Schema } from "effect"
import type { IncomingMessage } from "node:http"
import { rejectInvalidFields, RequestRejected } from "./RuntimeErrorResponses.ts"

/** Whether the declared length exceeds the limit. */
export const exceedsBodyLimit = ({ headers }: IncomingMessage): boolean =>
  Number(headers["content-length"] ?? 0) > runtimeBodyLimit

const reject = (rejection: RuntimeRejection) => new RequestRejected({ rejection })

const parse = (pieces: ReadonlyArray<Buffer>): Either.Either<unknown, RequestRejected> =>
  Either.try({
    try: (): unknown => JSON.parse(Buffer.concat(pieces).toString("utf8")),
    catch: () => reject(RuntimeErrors.malformedBody)
  })

/** A body above the limit is discarded. */
const readJson = (request: IncomingMessage): Effect.Effect<unknown, RequestRejected> =>
  Effect.async((resume) => {
    let pieces: Array<Buffer> = []
    let length = 0
    request
      .on("data", (piece: Buffer) => {
        length += piece.length
        if (length <= runtimeBodyLimit) pieces.push(piece)
        else {
          pieces = []
          resume(reject(RuntimeErrors.bodyTooLarge))
        }
      })
      .once("end", () => resume(parse(pieces)))
  })

/** Makes a reader for bodies of a schema. */
export const makeBodyReader = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (request: IncomingMessage) =>
    Effect.flatMap(readJson(request), (json) => Either.mapLeft(decode(json), rejectInvalidFields))
}
