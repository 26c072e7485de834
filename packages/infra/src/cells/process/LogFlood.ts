/** What a cell may say at once, and how fast it may say more in the long run, in bytes. */
const burst = 32 * 1024 * 1024
const perSecond = 1024 * 1024

/** How much a cell may still say; a bucket that fills up again with time. */
export interface LogAllowance {
  readonly left: number
  /** Epoch milliseconds. */
  readonly at: number
}

export const fullAllowance = (now: number): LogAllowance => ({ left: burst, at: now })

/** What is left after so many bytes; less than nothing is a flood. */
export const afterWriting = ({ at, left }: LogAllowance, written: number, now: number): LogAllowance => ({
  left: Math.min(burst, left + (Math.max(0, now - at) / 1000) * perSecond) - Math.max(0, written),
  at: now
})

export const isFlood = ({ left }: LogAllowance): boolean => left < 0
