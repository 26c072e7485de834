import { Option, Schema } from "effect"
import { type Made, type Pull, through } from "../wire/Pull.ts"
import type { VendorRefused } from "../wire/WireFailure.ts"
import { ErrorBody } from "./WireBodies.ts"
import { refusalOf } from "./WireRefusals.ts"

// In characters; an error has a few hundred.
const longestError = 64 * 1024

const blankLine = /\r\n\r\n|\n\n|\r\r/

/** The error in what is left of a text behind its last event, if that is one. */
export const strayErrorIn = (text: string): Option.Option<VendorRefused> =>
  Option.fromNullable(text.split(blankLine).findLast((part) => part.trim() !== "")).pipe(
    Option.flatMap(Schema.decodeUnknownOption(ErrorBody)),
    Option.map(({ error }) => refusalOf(error, null, undefined))
  )

/**
 * Fails at the end of texts that end in an error. Google writes an error in mid-stream bare, which by the rules of
 * server-sent events says nothing.
 */
export const failOnStrayError = <E>(texts: Pull<string, E>): Pull<string, E | VendorRefused> => {
  let tail = ""
  return through(texts, {
    step: (given): Made<string, VendorRefused> => {
      const values = [...given]
      tail = (tail + values.join("")).slice(-longestError)
      return { values }
    },
    end: () => ({ values: [], failure: Option.getOrUndefined(strayErrorIn(tail)) })
  })
}
