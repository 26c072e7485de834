export interface CpuSample {
  readonly cpuMs: number
  /** Epoch milliseconds. */
  readonly at: number
}

/** Percent of one core between two samples; null for samples at the same time. */
export const computeCpuPercent = (before: CpuSample, now: CpuSample): number | null =>
  now.at <= before.at ? null : Math.max(0, (100 * (now.cpuMs - before.cpuMs)) / (now.at - before.at))
