import { Option } from "effect"

const decimals = 6

/** Parses a decimal amount with at most six decimals into micro USDC; none for zero, signs and exponents. */
export const parseUsdc = (text: string): Option.Option<bigint> => {
  const [, whole, fraction = ""] = /^(0|[1-9]\d{0,8})(?:\.(\d{1,6}))?$/.exec(text.trim()) ?? []
  if (whole === undefined) return Option.none()
  return Option.filter(Option.some(BigInt(whole + fraction.padEnd(decimals, "0"))), (micros) => micros > 0n)
}

export const formatUsdc = (micros: bigint): string => {
  const digits = String(micros).padStart(decimals + 1, "0")
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, "")
}
