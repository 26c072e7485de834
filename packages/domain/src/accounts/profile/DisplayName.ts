import { Option } from "effect"

export const maximumDisplayNameLength = 200

/** Characters that turn the text around them: a name with one reads as another, or makes what stands beside it read so. */
const turning = /[\u202a-\u202e\u2066-\u2069]/u

/** A name people see: trimmed, with something to see in it, at most 200 characters, none that control or turn text. */
export const parseDisplayName = (text: string): Option.Option<string> => {
  const name = text.trim()
  const isVisible = /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u.test(name)
  const acceptable =
    isVisible && [...name].length <= maximumDisplayNameLength && !/\p{Cc}/u.test(name) && !turning.test(name)
  return acceptable ? Option.some(name) : Option.none()
}
