import { Effect, Option, Ref, Schema, Stream } from "effect"
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
export const failOnStrayError = <E, R>(
  texts: Stream.Stream<string, E, R>
): Stream.Stream<string, E | VendorRefused, R> =>
  Stream.unwrap(
    Effect.map(Ref.make(""), (tail) =>
      texts.pipe(
        Stream.tap((text) => Ref.update(tail, (before) => (before + text).slice(-longestError))),
        Stream.concat(
          Stream.unwrap(
            Effect.map(Ref.get(tail), (text) =>
              Option.match(strayErrorIn(text), { onNone: () => Stream.empty, onSome: Stream.fail })
            )
          )
        )
      )
    )
  )
