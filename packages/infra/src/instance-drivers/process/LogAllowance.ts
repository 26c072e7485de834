/** What a cell may say at once, and how fast it may say more in the long run, in bytes. */
const burst = 32 * 1024 * 1024
const perSecond = 1024 * 1024

/** How much a cell may still say; a bucket that fills up again with time. */
export interface LogAllowance {
  readonly remainingBytes: number
  /** Epoch milliseconds. */
  readonly at: number
}

export const makeFullAllowance = (now: number): LogAllowance => ({ remainingBytes: burst, at: now })

/** What is left after so many bytes; less than nothing is a flood. */
export const consumeAllowance = ({ at, remainingBytes }: LogAllowance, written: number, now: number): LogAllowance => ({
  remainingBytes: Math.min(burst, remainingBytes + (Math.max(0, now - at) / 1000) * perSecond) - Math.max(0, written),
  at: now
})

export const isLogFlood = ({ remainingBytes }: LogAllowance): boolean => remainingBytes < 0
