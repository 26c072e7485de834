/** Bytes that may be sent at a time in epoch milliseconds; negative after a large file. */
export interface ByteAllowance {
  readonly bytes: number
  readonly at: number
}

/** Refills at `bytesPerSecond`, up to the bytes of one second. */
export const refillAllowance = ({ at, bytes }: ByteAllowance, bytesPerSecond: number, now: number): ByteAllowance => ({
  bytes: Math.min(bytesPerSecond, bytes + (Math.max(0, now - at) / 1000) * bytesPerSecond),
  at: Math.max(at, now)
})
