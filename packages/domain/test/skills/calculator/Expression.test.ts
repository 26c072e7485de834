import { evaluateExpression } from "@berth/domain/skills/calculator/Expression"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Either, FastCheck } from "effect"
import { measureCpuTime } from "../../../../../test/support/CpuTime.ts"

const value = (text: string) =>
  Either.match(evaluateExpression(text), { onLeft: ({ message }) => message, onRight: (found) => found })

it("evaluateExpression computes common notations", () => {
  const known: Readonly<Record<string, string>> = {
    "0.1 + 0.2": "0.3",
    "(19.99 * 3) * 1.2": "71.964",
    "1/3*3": "1",
    "2^100": "1267650600228229401496703205376",
    "2^3^2": "512",
    "-2^2": "-4",
    "2^-2": "0.25",
    "2**3": "8",
    "6 ÷ 4 − 1 × 2 · 3": "-4.5",
    "7 % 3 + -7 % 3": "0",
    "--1": "1",
    "1e3 + .5 + 1.": "1001.5",
    "sqrt(2)^2": "2",
    "round(1000/7, 2)": "142.86",
    "round(2.5) + round(-2.5)": "0",
    "max(1, 3, 2) - min(4, 2)": "1",
    "floor(-1.5) + ceil(1.5) + trunc(-1.9)": "-1",
    "factorial(20)": "2432902008176640000",
    "log(1000) + log2(8) + ln(exp(2))": "8",
    "sin(0) + cos(0) + tan(0)": "1",
    "acos(-1) - PI": "0",
    "round(e, 5)": "2.71828",
    "cbrt(27) + abs(-2)": "5",
    "1/3": "0.33333333333333333333",
    "10^10000": "1e+10000"
  }
  for (const [text, wanted] of Object.entries(known)) assert.deepStrictEqual([text, value(text)], [text, wanted])
})

it("evaluateExpression explains a failure in a sentence", () => {
  const known: Readonly<Record<string, string>> = {
    "": "The expression is empty.",
    "1 / (2 - 2)": "Nothing can be divided by zero.",
    "5 % 0": "Nothing can be divided by zero.",
    "0 ^ -1": "Nothing can be divided by zero.",
    "sqrt(-1)": "That has no value: a root, logarithm or power is taken where it is not defined.",
    "ln(-1)": "That has no value: a root, logarithm or power is taken where it is not defined.",
    "1 +": '"the end" is not expected there.',
    "2 3": '"3" is not expected there.',
    "2(3)": '"(" is not expected there.',
    "(1": '"the end" is not expected there.',
    "1,5": '"," is not expected there.',
    "20 $": '"$" is not understood.',
    "😀": '"😀" is not understood.',
    "process.exit(1)": '"." is not understood.',
    constructor: '"constructor" is neither a number nor a constant.',
    "eval(1)": 'There is no function "eval".',
    "sqrt(1, 2)": "sqrt does not take that many values.",
    "factorial(1001)": "factorial takes a whole number from 0 to 1000.",
    "10^10^10": "The result is too large.",
    "9^9^9^9^9": "The result is too large.",
    "sin(10^60)": "The angle is too large."
  }
  for (const [text, wanted] of Object.entries(known)) assert.deepStrictEqual([text, value(text)], [text, wanted])
  assert.include(value("(".repeat(400) + "1" + ")".repeat(400)), "nested too deeply")
  assert.include(value("-".repeat(900) + "1"), "nested too deeply")
  assert.include(value("1+".repeat(600) + "1"), "longer than 1000")
})

/** Decimals of a few digits with their value in ten-thousandths. */
const decimal = FastCheck.integer({ min: -99_999_999, max: 99_999_999 }).map((tenThousandths) => ({
  text: `(${(tenThousandths / 10_000).toFixed(4)})`,
  exact: BigInt(tenThousandths)
}))

const asText = (units: bigint, places: number): string => {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, "0")
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/0+$/, "").replace(/\.$/, "")
  return units < 0n && text !== "0" ? `-${text}` : text
}

it.prop(
  "evaluateExpression adds, subtracts and multiplies decimals exactly",
  [decimal, decimal, decimal],
  ([a, b, c]) => {
    assert.strictEqual(value(`${a.text} + ${b.text} - ${c.text}`), asText(a.exact + b.exact - c.exact, 4))
    assert.strictEqual(value(`${a.text} * ${b.text} + ${c.text}`), asText(a.exact * b.exact + c.exact * 10_000n, 8))
    assert.strictEqual(value(`${a.text} * (${b.text} + ${c.text})`), asText(a.exact * (b.exact + c.exact), 8))
  }
)

it.prop("evaluateExpression returns the remainder with the sign of the dividend", [decimal, decimal], ([a, b]) => {
  if (b.exact !== 0n) assert.strictEqual(value(`${a.text} % ${b.text}`), asText(a.exact % b.exact, 4))
})

const piece = FastCheck.constantFrom(
  ..."0 1 9 .5 1e9 1e999999 e pi ( ) , + - * / % ^ sqrt( log( sin( factorial( round( min( max( exp( ln( x 😀".split(" ")
)

it.prop(
  "evaluateExpression returns a number or a sentence in bounded time for any text",
  [
    FastCheck.oneof(
      FastCheck.string(),
      FastCheck.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""))
    )
  ],
  ([text]) => {
    const [took, found] = Effect.runSync(measureCpuTime(Effect.sync(() => evaluateExpression(text))))
    assert.match(
      Either.isLeft(found) ? found.left.message : found.right,
      Either.isLeft(found) ? /\.$/ : /^-?\d+(\.\d+)?(e[+-]\d+)?$/
    )
    assert.isBelow(Duration.toMillis(took), 2_000)
  },
  { fastCheck: { numRuns: 500 } }
)
