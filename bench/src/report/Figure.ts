/** Formats a number with about three significant digits. */
export const formatFigure = (value: number): string => {
  if (!Number.isFinite(value)) return "–"
  const size = Math.abs(value)
  if (size > 0 && size < 0.1) return value.toPrecision(2)
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}
