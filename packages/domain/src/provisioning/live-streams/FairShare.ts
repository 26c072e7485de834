import type { UserId } from "../../shared/UserId.ts"
import { liveLimits } from "./LiveStream.ts"

export interface OwnerStorage {
  readonly ownerId: UserId
  /** Streams with stored files. */
  readonly streams: number
  readonly bytes: number
}

/** Returns the bytes that a stream of the owner may store. Above the total, all owners have equal shares. */
export const computeStorageShare = (storage: ReadonlyArray<OwnerStorage>, ownerId: UserId): number => {
  const { maximumFileBytes, storedBytes, storedBytesPerStream } = liveLimits
  const total = storage.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total <= storedBytes) return storedBytesPerStream
  const own = storage.find((share) => share.ownerId === ownerId)
  const owners = own === undefined ? storage.length + 1 : storage.length
  const share = Math.floor(storedBytes / owners / Math.max(1, own?.streams ?? 1))
  return Math.min(storedBytesPerStream, Math.max(maximumFileBytes, share))
}

/**
 * Whether one of `holders` that holds `held` may take more: always while the total is not exhausted, else up to an
 * equal share.
 */
export const mayTakeMore = ({
  capacity,
  held,
  holders,
  total
}: {
  readonly capacity: number
  readonly held: number
  readonly holders: number
  readonly total: number
}): boolean => total < capacity || held < capacity / Math.max(1, holders)
