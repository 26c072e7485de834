import { Option } from "effect"

export const maximumNameLength = 200

/** A name people see: trimmed, not empty, at most 200 characters, no control characters. */
export const parseDisplayName = (text: string): Option.Option<string> => {
  const name = text.trim()
  const acceptable = name !== "" && [...name].length <= maximumNameLength && !/\p{Cc}/u.test(name)
  return acceptable ? Option.some(name) : Option.none()
}
