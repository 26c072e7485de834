/** Token bucket of an instance's log, in bytes. */
const burst = 32 * 1024 * 1024

const perSecond = 1024 * 1024

export interface LogAllowance {
  readonly remainingBytes: number
  /** Epoch milliseconds. */
  readonly at: number
}

export const makeFullAllowance = (now: number): LogAllowance => ({ remainingBytes: burst, at: now })

/** Returns the allowance after `written` more bytes; negative for a flood. */
export const consumeAllowance = ({ at, remainingBytes }: LogAllowance, written: number, now: number): LogAllowance => ({
  remainingBytes: Math.min(burst, remainingBytes + (Math.max(0, now - at) / 1000) * perSecond) - Math.max(0, written),
  at: now
})

export const isLogFlood = ({ remainingBytes }: LogAllowance): boolean => remainingBytes < 0
