/** Bytes that may be sent now, below zero after a large file, at a moment in epoch milliseconds. */
export interface ByteAllowance {
  readonly bytes: number
  readonly at: number
}

/** Refills at `bytesPerSecond`, up to one second's bytes. */
export const refillAllowance = ({ at, bytes }: ByteAllowance, bytesPerSecond: number, now: number): ByteAllowance => ({
  bytes: Math.min(bytesPerSecond, bytes + (Math.max(0, now - at) / 1000) * bytesPerSecond),
  at: Math.max(at, now)
})
