import {
  ClientFrame,
  type FrameError,
  FrameErrorBody,
  FrameInvalid,
  type ServerFrame
} from "@berth/api/interaction/AgentSocketFrames"
import { type Effect, Either, Schema } from "effect"
import type { RawData } from "ws"
import { parseJsonBody } from "../http/RequestBody.ts"
import { describeIssues } from "../http/SchemaIssues.ts"
import { withTraceId } from "../http/TraceId.ts"

const decodeFrame = Schema.decodeUnknownEither(ClientFrame)
const encodeError = Schema.encodeSync(FrameErrorBody)
const encoder = new TextEncoder()

export const readClientFrame = (text: string): Either.Either<ClientFrame, FrameInvalid> =>
  parseJsonBody(encoder.encode(text)).pipe(
    Either.mapLeft(({ reason }) => new FrameInvalid({ reason })),
    Either.flatMap((value) =>
      Either.mapLeft(
        decodeFrame(value),
        (error) => new FrameInvalid({ reason: `is invalid: ${describeIssues(error)}` })
      )
    )
  )

export const readText = (data: RawData): string => {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8")
  return data instanceof ArrayBuffer ? Buffer.from(data).toString("utf8") : data.toString("utf8")
}

export const makeErrorFrame = (error: FrameError, id: string | undefined): Effect.Effect<ServerFrame> => {
  const { code, error: sentence, message } = encodeError(error)
  return withTraceId({ type: "error", ...(id === undefined ? {} : { id }), code, error: sentence, message })
}
