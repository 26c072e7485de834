const mib = 1024 * 1024

/** Shares of memory at which the owner of an instance is warned, the highest first. */
const alertShares = [0.9, 0.8]

/** An alert ends at its share minus this one, so that small changes raise no further alert. */
const hysteresis = 0.1

interface MemoryAlert {
  /** Share of the last warning; 0 for none. */
  readonly share: number
  readonly isRaised: boolean
}

/** Returns the alert after a measurement, and whether it is new. */
export const decideMemoryAlert = (share: number, usedBytes: number, limitMb: number): MemoryAlert => {
  const used = usedBytes / (limitMb * mib)
  const reached = alertShares.find((alert) => used >= alert) ?? 0
  if (reached > share) return { share: reached, isRaised: true }
  return { share: used < share - hysteresis ? reached : share, isRaised: false }
}

/** Describes an alert for the instance's log. */
export const describeMemoryAlert = (usedBytes: number, limitMb: number): string => {
  const usedMb = Math.round(usedBytes / mib)
  const percent = Math.round((100 * usedBytes) / (limitMb * mib))
  return `The instance uses ${usedMb} of its ${limitMb} MB of memory (${percent} %). It is ended when it needs more than that.`
}
