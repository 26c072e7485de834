import type { SqlError } from "@effect/sql/SqlError"

const textOf = (cause: unknown, field: "code" | "constraint"): string | undefined => {
  if (typeof cause !== "object" || cause === null) return undefined
  const value: unknown = Reflect.get(cause, field)
  return typeof value === "string" ? value : undefined
}

/** SQLSTATE, or the code of a failed system call. */
export const codeOf = (cause: unknown): string | undefined => textOf(cause, "code")

/** Whether a statement failed because `constraint` wants its columns unique. */
export const violates = (constraint: string) => (error: SqlError | { readonly _tag: string }) =>
  error._tag === "SqlError" &&
  "cause" in error &&
  codeOf(error.cause) === "23505" &&
  textOf(error.cause, "constraint") === constraint
