import { Option } from "effect"

/** Process of a lock file with its start time, since pids are reused. */
export interface LockHolder {
  readonly pid: number
  /** Empty on systems without start times. */
  readonly birth: string
}

export const formatLockHolder = ({ birth, pid }: LockHolder): string => `${pid} ${birth}\n`

export const parseLockHolder = (text: string): Option.Option<LockHolder> => {
  const [pid, birth] = text.trim().split(" ")
  const number = Number(pid)
  return Number.isSafeInteger(number) && number > 0 ? Option.some({ pid: number, birth: birth ?? "" }) : Option.none()
}

/** Observed state of a process. `birth` is empty if unknown. */
interface ProcessSighting {
  readonly alive: boolean
  readonly birth: string
}

/** Whether the process that wrote the file is still running. Unknown start times count as equal. */
export const isLockHeld = (holder: LockHolder, sighting: ProcessSighting): boolean =>
  sighting.alive && (holder.birth === "" || sighting.birth === "" || holder.birth === sighting.birth)
