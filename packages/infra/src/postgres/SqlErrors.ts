import type { SqlError } from "@effect/sql/SqlError"

const textOf = (cause: unknown, field: "code" | "constraint"): string | undefined => {
  if (typeof cause !== "object" || cause === null) return undefined
  const value: unknown = Reflect.get(cause, field)
  return typeof value === "string" ? value : undefined
}

/** SQLSTATE, or the code of a failed system call. */
export const readSqlErrorCode = (cause: unknown): string | undefined => textOf(cause, "code")

// Failures of the socket and the name lookup; a server that is stopping or starting, or cancels a slow statement.
const unreachable = new Set(
  "ECONNREFUSED ECONNRESET ETIMEDOUT EPIPE ENOENT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH 57P01 57P02 57P03 57P05 57014 55000".split(
    " "
  )
)
// Connections, and exhausted resources: a full disk, no memory or no free connections (SQLSTATE classes 08 and 53).
const connectionOrResources = /^(08|53)...$/
// Errors of the driver without a code.
const lost =
  /^(timeout exceeded when trying to connect|connection terminated|client has encountered a connection error|client was closed|cannot use a pool after)/i

/** Whether a statement failed because the database was unavailable or too slow. */
export const isDatabaseOutage = (cause: unknown): boolean => {
  const code = readSqlErrorCode(cause)
  if (code !== undefined && (unreachable.has(code) || connectionOrResources.test(code))) return true
  return cause instanceof Error && lost.test(cause.message)
}

/** Whether the database rejects the values of a row (SQLSTATE classes 22 and 23). */
export const isRowRejected = (cause: unknown): boolean => /^2[23]...$/.test(readSqlErrorCode(cause) ?? "")

/** Whether a statement violates this unique constraint. */
export const violatesConstraint = (constraint: string) => (error: SqlError | { readonly _tag: string }) =>
  error._tag === "SqlError" &&
  "cause" in error &&
  readSqlErrorCode(error.cause) === "23505" &&
  textOf(error.cause, "constraint") === constraint

/** Whether a statement failed with a lock timeout or a deadlock. */
export const isLockConflict = (error: SqlError): boolean => {
  const code = readSqlErrorCode(error.cause)
  return code === "55P03" || code === "40P01"
}
