import { createHash } from "node:crypto"
import { Client, type ClientConfig, Query } from "pg"
import { readSqlErrorCode } from "./SqlErrors.ts"

/** Prefix of statements that each connection prepares once. Their text must be constant and must name its columns. */
export const preparedMark = "/* prepared */"

/**
 * "cached plan must not change result type", after a change of a column's type; and "prepared statement does not
 * exist", after `discard all` in a session. The next execution prepares the statement again.
 */
const stalePlanCodes = new Set(["0A000", "26000"])

/** Names of marked statements by text, equal in all processes; a stale plan gets a new name. */
class StatementNames {
  readonly #names = new Map<string, { readonly name: string; readonly version: number }>()

  nameOf(text: string): string {
    const name = this.#names.get(text)
    if (name !== undefined) return name.name
    return this.#give(text, 0)
  }

  invalidate(text: string): void {
    this.#give(text, (this.#names.get(text)?.version ?? 0) + 1)
  }

  #give(text: string, version: number): string {
    const name = `berth_${createHash("sha256").update(text).digest("hex").slice(0, 24)}_${version}`
    this.#names.set(text, { name, version })
    return name
  }
}

type Arguments = ReadonlyArray<unknown>

const names = new StatementNames()

/** A query with a name. The driver copies the descriptors of a configuration object, which takes longer than the query. */
class NamedQuery extends Query {
  readonly name: string

  constructor(text: string, values: Array<unknown>) {
    super(text, values)
    this.name = names.nameOf(text)
  }
}

/** Names the query of these arguments, and observes its result. Without values or a callback, it has no name. */
const nameStatement = (text: string, [values, callback, ...rest]: Arguments): Arguments =>
  Array.isArray(values) && typeof callback === "function"
    ? [
        new NamedQuery(text, values),
        (error: unknown, ...answer: Arguments): void => {
          if (stalePlanCodes.has(readSqlErrorCode(error) ?? "")) names.invalidate(text)
          Reflect.apply(callback, undefined, [error, ...answer])
        }
      ]
    : [text, values, callback, ...rest]

/**
 * A connection that names marked statements: they are parsed and planned once, which otherwise costs the database more
 * than a read by key.
 */
export class PreparingClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    const plain: (...args: Array<never>) => unknown = this.query
    Object.defineProperty(this, "query", {
      value: (text: unknown, ...rest: Array<unknown>): unknown =>
        Reflect.apply(
          plain,
          this,
          typeof text === "string" && text.startsWith(preparedMark) ? nameStatement(text, rest) : [text, ...rest]
        )
    })
  }
}
