import { Option } from "effect"

/** Both ends are inclusive. */
interface ByteRange {
  readonly first: number
  readonly last: number
}

/** Decides on a `Range` header (RFC 9110, section 14): none for the whole file, and for several ranges. */
export const decideByteRange = (
  header: string | undefined,
  length: number
): Option.Option<ByteRange | "unsatisfiable"> => {
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? []
  if (from === "" && to === "") return Option.none()
  if (from === "") {
    const count = Math.min(Number(to), length)
    return Option.some(count === 0 ? "unsatisfiable" : { first: length - count, last: length - 1 })
  }
  const first = Number(from)
  if (to !== "" && Number(to) < first) return Option.none()
  if (first >= length) return Option.some("unsatisfiable")
  return Option.some({ first, last: to === "" ? length - 1 : Math.min(Number(to), length - 1) })
}
