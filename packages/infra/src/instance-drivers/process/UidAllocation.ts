import { Hash, Option } from "effect"

/** User ids for instances, one per owner. */
export interface UidRange {
  readonly first: number
  readonly size: number
}

/** Above the ranges of distributions, subordinate ids and container managers. */
const preferredRange: UidRange = { first: 1_900_000_000, size: 100_000 }
/** For a user namespace that maps lower ids only. */
const smallRange: UidRange = { first: 20_000, size: 20_000 }

/** Valid user ids: 0 is root, and the largest value means none. */
const [smallestUid, largestUid] = [1, 2 ** 32 - 2]

/** Parses `first-last`. None if malformed. */
export const parseUidRange = (text: string): Option.Option<UidRange> => {
  const [first = Number.NaN, last = Number.NaN] = (/^(\d+)-(\d+)$/.exec(text.trim()) ?? []).slice(1).map(Number)
  return first >= smallestUid && last >= first && last <= largestUid
    ? Option.some({ first, size: last - first + 1 })
    : Option.none()
}

/**
 * Returns the first range mapped in this user namespace, by the text of `/proc/self/uid_map`. A null map includes every
 * id.
 */
export const selectUidRange = (uidMap: string | null): Option.Option<UidRange> => {
  if (uidMap === null) return Option.some(preferredRange)
  const mapped = uidMap
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
  const covers = ({ first, size }: UidRange) =>
    mapped.some(([from = 0, , length = 0]) => from <= first && first + size <= from + length)
  return Option.fromNullable([preferredRange, smallRange].find(covers))
}

export const isInUidRange = ({ first, size }: UidRange, uid: number): boolean => uid >= first && uid < first + size

/** Returns a free id. Deterministic per owner, unless another owner has the id. */
export const allocateUid = (range: UidRange, owner: string, used: ReadonlySet<number>): Option.Option<number> => {
  const start = ((Hash.string(owner) % range.size) + range.size) % range.size
  for (let step = 0; step < range.size; step++) {
    const uid = range.first + ((start + step) % range.size)
    if (!used.has(uid)) return Option.some(uid)
  }
  return Option.none()
}
