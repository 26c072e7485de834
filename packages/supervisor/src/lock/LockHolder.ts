import { Option } from "effect"

/** Who a lock file names: a process, and when it began, because process numbers are used again. */
export interface LockHolder {
  readonly pid: number
  /** Empty where the system does not tell. */
  readonly birth: string
}

export const formatLockHolder = ({ birth, pid }: LockHolder): string => `${pid} ${birth}\n`

export const parseLockHolder = (text: string): Option.Option<LockHolder> => {
  const [pid, birth] = text.trim().split(" ")
  const number = Number(pid)
  return Number.isSafeInteger(number) && number > 0 ? Option.some({ pid: number, birth: birth ?? "" }) : Option.none()
}

/** What can be found out about a process now. `birth` is empty when that cannot be found out. */
export interface ProcessSighting {
  readonly alive: boolean
  readonly birth: string
}

/** Is the process that the file names still the one that wrote it? In doubt it is: a lock is rather respected than broken. */
export const isLockHeld = (holder: LockHolder, sighting: ProcessSighting): boolean =>
  sighting.alive && (holder.birth === "" || sighting.birth === "" || holder.birth === sighting.birth)
