import { Predicate } from "effect"

type Operation = Readonly<Record<string, unknown>>

/** Annotation with the errors of every operation in a separate protocol; removed when the document is complete. */
export const errorShape = "x-error-shape"

export const isErrorStatus = (status: string) => /^[45]/.test(status)

/** Replaces the content of an operation's errors with that of another protocol. */
export const documentErrorShape =
  (content: Operation) =>
  (operation: Operation): Record<string, unknown> => {
    const responses = Predicate.isRecord(operation["responses"]) ? operation["responses"] : {}
    return {
      ...operation,
      [errorShape]: content,
      responses: Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [
          status,
          isErrorStatus(status) && Predicate.isRecord(response) ? { ...response, content } : response
        ])
      )
    }
  }
