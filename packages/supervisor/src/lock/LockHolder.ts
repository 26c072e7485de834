import { Option } from "effect"

/** Process of a lock file with its start time, since pids are reused. */
export interface LockHolder {
  readonly pid: number
  /** Empty on systems without start times. */
  readonly startTime: string
}

export const formatLockHolder = ({ startTime, pid }: LockHolder): string => `${pid} ${startTime}\n`

export const parseLockHolder = (text: string): Option.Option<LockHolder> => {
  const [pid, startTime] = text.trim().split(" ")
  const number = Number(pid)
  return Number.isSafeInteger(number) && number > 0
    ? Option.some({ pid: number, startTime: startTime ?? "" })
    : Option.none()
}

/** Observed state of a process. `startTime` is empty if unknown. */
interface ObservedProcess {
  readonly alive: boolean
  readonly startTime: string
}

/** Whether the process that wrote the file is still running. Unknown start times count as equal. */
export const isLockHeld = (holder: LockHolder, observed: ObservedProcess): boolean =>
  observed.alive && (holder.startTime === "" || observed.startTime === "" || holder.startTime === observed.startTime)
