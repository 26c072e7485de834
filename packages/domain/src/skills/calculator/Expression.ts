import { Either } from "effect"
import {
  add,
  applyFunction,
  constants,
  divide,
  functionNames,
  multiply,
  ExpressionInvalid,
  type Numeral,
  parseNumeral,
  power,
  formatNumeral,
  remainder,
  subtract
} from "./Arithmetic.ts"

export interface ExpressionLimits {
  readonly characters: number
  /** Maximum functions and powers; each blocks the event loop for some milliseconds. */
  readonly functions: number
}

/** Limits for evaluation in a separate process, which has a time limit. */
const usualLimits: ExpressionLimits = { characters: 1_000, functions: Number.POSITIVE_INFINITY }
/** Maximum nesting depth of parentheses, signs and powers. */
const deepest = 100

/** Alternative spellings of the operators. */
const spellings: Readonly<Record<string, string>> = { "×": "*", "·": "*", "÷": "/", "−": "-", "**": "^" }

const token =
  /\s*(?:((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,7})?)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|[-+*/%^(),\u00d7\u00b7\u00f7\u2212]))/y

type Token =
  | { readonly kind: "number" | "name" | "sign"; readonly text: string }
  | { readonly kind: "end"; readonly text: "the end" }

const end: Token = { kind: "end", text: "the end" }

const tokens = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  token.lastIndex = 0
  let at = 0
  while (text.slice(at).trim() !== "") {
    token.lastIndex = at
    const match = token.exec(text)
    if (match === null)
      throw new ExpressionInvalid({ message: `"${firstCharacter(text.slice(at).trim())}" is not understood.` })
    const [, number, name, sign = ""] = match
    if (number !== undefined) tokens.push({ kind: "number", text: number })
    else if (name !== undefined) tokens.push({ kind: "name", text: name.toLowerCase() })
    else tokens.push({ kind: "sign", text: spellings[sign] ?? sign })
    at = token.lastIndex
  }
  return tokens
}

const firstCharacter = (text: string): string => String.fromCodePoint(text.codePointAt(0) ?? 0x20)

class Reader {
  private at = 0
  private depth = 0
  private functionsLeft: number
  private readonly all: ReadonlyArray<Token>

  constructor(text: string, { functions }: ExpressionLimits) {
    this.all = tokens(text)
    this.functionsLeft = functions
  }

  whole(): Numeral {
    if (this.all.length === 0) throw new ExpressionInvalid({ message: "The expression is empty." })
    const value = this.sum()
    if (this.next().kind !== "end") throw this.unexpected()
    return value
  }

  private next(): Token {
    return this.all[this.at] ?? end
  }

  private take(sign: string): boolean {
    const token = this.next()
    const isMatch = token.kind === "sign" && token.text === sign
    if (isMatch) this.at += 1
    return isMatch
  }

  private unexpected(): ExpressionInvalid {
    return new ExpressionInvalid({ message: `"${this.next().text.slice(0, 40)}" is not expected there.` })
  }

  private deeper<A>(read: () => A): A {
    this.depth += 1
    if (this.depth > deepest) throw new ExpressionInvalid({ message: "The expression is nested too deeply." })
    const value = read()
    this.depth -= 1
    return value
  }

  /** Counts a function or power before its evaluation. */
  private effort() {
    this.functionsLeft -= 1
    if (this.functionsLeft < 0)
      throw new ExpressionInvalid({ message: "There are too many functions and powers in it. Work it out in parts." })
  }

  private sum(): Numeral {
    let value = this.product()
    for (;;)
      if (this.take("+")) value = add(value, this.product())
      else if (this.take("-")) value = subtract(value, this.product())
      else return value
  }

  private product(): Numeral {
    let value = this.signed()
    for (;;)
      if (this.take("*")) value = multiply(value, this.signed())
      else if (this.take("/")) value = divide(value, this.signed())
      else if (this.take("%")) value = remainder(value, this.signed())
      else return value
  }

  private signed(): Numeral {
    return this.deeper(() => {
      if (this.take("-")) return this.signed().neg()
      if (this.take("+")) return this.signed()
      const base = this.value()
      // Right-associative, with higher precedence than a sign before it: -2^2 is -4.
      if (!this.take("^")) return base
      const exponent = this.signed()
      this.effort()
      return power(base, exponent)
    })
  }

  private value(): Numeral {
    const token = this.next()
    if (token.kind === "number") {
      this.at += 1
      return parseNumeral(token.text)
    }
    if (token.kind === "name") {
      this.at += 1
      return this.take("(") ? this.call(token.text) : constant(token.text)
    }
    if (!this.take("(")) throw this.unexpected()
    const value = this.sum()
    if (!this.take(")")) throw this.unexpected()
    return value
  }

  private call(name: string): Numeral {
    if (!functionNames.includes(name))
      throw new ExpressionInvalid({ message: `There is no function "${name.slice(0, 40)}".` })
    const args = [this.sum()]
    while (this.take(",")) args.push(this.sum())
    if (!this.take(")")) throw this.unexpected()
    this.effort()
    return applyFunction(name, args)
  }
}

const constant = (name: string): Numeral => {
  const value = constants.get(name)?.()
  if (value === undefined)
    throw new ExpressionInvalid({ message: `"${name.slice(0, 40)}" is neither a number nor a constant.` })
  return value
}

/** Evaluates an expression to text, or returns a sentence on its error. Total, in bounded time. */
export const evaluateExpression = (
  text: string,
  limits: ExpressionLimits = usualLimits
): Either.Either<string, ExpressionInvalid> =>
  text.length > limits.characters
    ? Either.left(new ExpressionInvalid({ message: `The expression is longer than ${limits.characters} characters.` }))
    : Either.try({
        try: () => formatNumeral(new Reader(text, limits).whole()),
        catch: (cause) =>
          cause instanceof ExpressionInvalid
            ? cause
            : new ExpressionInvalid({ message: "That cannot be worked out exactly enough." })
      })
