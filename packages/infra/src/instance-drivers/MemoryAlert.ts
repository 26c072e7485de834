const mib = 1024 * 1024

/** The shares of its memory at which the owner of an instance is warned, the highest first. */
const alertShares = [0.9, 0.8]
/** An alert ends this share below its own, so that a level in between raises no second one. */
const hysteresis = 0.1

export interface MemoryAlert {
  /** The share that was warned of last; 0 is none. */
  readonly share: number
  readonly isRaised: boolean
}

/** The alert after a measurement, and whether it is a new one. */
export const decideMemoryAlert = (share: number, usedBytes: number, limitMb: number): MemoryAlert => {
  const used = usedBytes / (limitMb * mib)
  const reached = alertShares.find((alert) => used >= alert) ?? 0
  if (reached > share) return { share: reached, isRaised: true }
  return { share: used < share - hysteresis ? reached : share, isRaised: false }
}

/** A sentence for the instance's log. */
export const describeMemoryAlert = (usedBytes: number, limitMb: number): string => {
  const usedMb = Math.round(usedBytes / mib)
  const percent = Math.round((100 * usedBytes) / (limitMb * mib))
  return `The instance uses ${usedMb} of its ${limitMb} MB of memory (${percent} %). It is ended when it needs more than that.`
}
