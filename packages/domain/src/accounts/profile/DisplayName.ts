import { Either, Option } from "effect"
import { DisplayNameInvalid } from "../AccountErrors.ts"

export const maximumDisplayNameLength = 200

/** Bidirectional controls change how the text next to a name is displayed. */
const bidirectionalControls = /[\u202a-\u202e\u2066-\u2069]/u

/** Parses a display name: trimmed, with a visible character, without control characters. */
export const parseDisplayName = (text: string): Option.Option<string> => {
  const name = text.trim()
  const isVisible = /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(name)
  const isAcceptable =
    isVisible &&
    [...name].length <= maximumDisplayNameLength &&
    !/\p{Cc}/u.test(name) &&
    !bidirectionalControls.test(name)
  return isAcceptable ? Option.some(name) : Option.none()
}

export const validateDisplayName = (text: string): Either.Either<string, DisplayNameInvalid> =>
  Either.fromOption(parseDisplayName(text), () => new DisplayNameInvalid())
