import { Decimal as AnyDecimal } from "decimal.js"
import { Data } from "effect"

/** The expression has no value. The message is a sentence. */
export class ExpressionInvalid extends Data.TaggedError("ExpressionInvalid")<{ readonly message: string }> {}

/** Precision in digits; longer values are rounded. */
const precision = 100

/** Bounds exponents, which prevents long computations. */
const Decimal = AnyDecimal.clone({ precision, maxE: 1_000_000, minE: -1_000_000, toExpPos: 60, toExpNeg: -20 })
export type Numeral = AnyDecimal

export const parseNumeral = (text: string): Numeral => new Decimal(text)

export const add = (a: Numeral, b: Numeral): Numeral => a.plus(b)
export const subtract = (a: Numeral, b: Numeral): Numeral => a.minus(b)
export const multiply = (a: Numeral, b: Numeral): Numeral => a.times(b)

export const divide = (a: Numeral, b: Numeral): Numeral => {
  if (b.isZero()) throw new ExpressionInvalid({ message: "Nothing can be divided by zero." })
  return a.div(b)
}

export const remainder = (a: Numeral, b: Numeral): Numeral => {
  if (b.isZero()) throw new ExpressionInvalid({ message: "Nothing can be divided by zero." })
  if (a.e - b.e > precision - 10)
    throw new ExpressionInvalid({ message: "The remainder of numbers that far apart is not known exactly." })
  return a.mod(b)
}

export const power = (base: Numeral, exponent: Numeral): Numeral => {
  if (base.isZero() && exponent.isNegative())
    throw new ExpressionInvalid({ message: "Nothing can be divided by zero." })
  return base.pow(exponent)
}

/** Lazy, since computing them at start would cost every runtime megabytes. */
export const constants: ReadonlyMap<string, () => Numeral> = new Map([
  ["pi", () => Decimal.acos(-1)],
  ["e", () => Decimal.exp(1)]
])

const angle = (value: Numeral): Numeral => {
  if (value.e > 40) throw new ExpressionInvalid({ message: "The angle is too large." })
  return value
}

const factorial = (value: Numeral): Numeral => {
  if (!value.isInteger() || value.isNegative() || value.gt(1000))
    throw new ExpressionInvalid({ message: "factorial takes a whole number from 0 to 1000." })
  let product = new Decimal(1)
  for (let factor = 2; factor <= value.toNumber(); factor += 1) product = product.times(factor)
  return product
}

const unary: ReadonlyMap<string, (value: Numeral) => Numeral> = new Map([
  ["abs", (value: Numeral) => value.abs()],
  ["sqrt", (value: Numeral) => value.sqrt()],
  ["cbrt", (value: Numeral) => value.cbrt()],
  ["floor", (value: Numeral) => value.floor()],
  ["ceil", (value: Numeral) => value.ceil()],
  ["trunc", (value: Numeral) => value.trunc()],
  ["ln", (value: Numeral) => value.ln()],
  ["log", (value: Numeral) => value.log(10)],
  ["log2", (value: Numeral) => value.log(2)],
  ["exp", (value: Numeral) => value.exp()],
  ["sin", (value: Numeral) => angle(value).sin()],
  ["cos", (value: Numeral) => angle(value).cos()],
  ["tan", (value: Numeral) => angle(value).tan()],
  ["asin", (value: Numeral) => value.asin()],
  ["acos", (value: Numeral) => value.acos()],
  ["atan", (value: Numeral) => value.atan()],
  ["factorial", factorial]
])

const round = (value: Numeral, places: Numeral): Numeral => {
  if (!places.isInteger() || places.isNegative() || places.gt(precision))
    throw new ExpressionInvalid({ message: `round takes a whole number of decimals from 0 to ${precision}.` })
  return value.toDecimalPlaces(places.toNumber(), Decimal.ROUND_HALF_UP)
}

export const functionNames: ReadonlyArray<string> = [...unary.keys(), "round", "min", "max"]

export const applyFunction = (name: string, args: ReadonlyArray<Numeral>): Numeral => {
  const [first, second, ...more] = args
  if (first === undefined) throw new ExpressionInvalid({ message: `${name} takes a value.` })
  if (name === "min") return Decimal.min(...args)
  if (name === "max") return Decimal.max(...args)
  if (name === "round" && more.length === 0) return round(first, second ?? new Decimal(0))
  const apart = unary.get(name)
  if (apart === undefined || second !== undefined)
    throw new ExpressionInvalid({ message: `${name} does not take that many values.` })
  return apart(first)
}

/** Formats a value: exact up to eighty digits, else rounded to twenty, so that a third times three is 1. */
export const formatNumeral = (value: Numeral): string => {
  if (value.isNaN())
    throw new ExpressionInvalid({
      message: "That has no value: a root, logarithm or power is taken where it is not defined."
    })
  if (!value.isFinite()) throw new ExpressionInvalid({ message: "The result is too large." })
  return (value.precision() <= 80 ? value : value.toSignificantDigits(20)).toString()
}
