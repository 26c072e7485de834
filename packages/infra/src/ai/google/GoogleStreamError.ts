import { Option, Schema } from "effect"
import { type StageOutput, type ChunkSource, applyStage } from "../vendor/ChunkStage.ts"
import type { VendorRequestRejected } from "../vendor/VendorErrors.ts"
import { GoogleErrorBody } from "./GoogleBodies.ts"
import { readGoogleError } from "./GoogleErrors.ts"

// In characters; an error has a few hundred.
const longestError = 64 * 1024

const blankLine = /\r\n\r\n|\n\n|\r\r/

/** The error in what is left of a text behind its last event, if that is one. */
export const findStreamError = (text: string): Option.Option<VendorRequestRejected> =>
  Option.fromNullable(text.split(blankLine).findLast((part) => part.trim() !== "")).pipe(
    Option.flatMap(Schema.decodeUnknownOption(GoogleErrorBody)),
    Option.map(({ error }) => readGoogleError(error, null, undefined))
  )

/**
 * Fails at the end of texts that end in an error. Google writes an error in mid-stream bare, which by the rules of
 * server-sent events says nothing.
 */
export const failOnStreamError = <E>(texts: ChunkSource<string, E>): ChunkSource<string, E | VendorRequestRejected> => {
  let tail = ""
  return applyStage(texts, {
    step: (given): StageOutput<string, VendorRequestRejected> => {
      const values = [...given]
      tail = (tail + values.join("")).slice(-longestError)
      return { values }
    },
    end: () => ({ values: [], failure: Option.getOrUndefined(findStreamError(tail)) })
  })
}
