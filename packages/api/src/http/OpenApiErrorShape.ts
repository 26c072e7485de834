import { Predicate } from "effect"

type Operation = Readonly<Record<string, unknown>>

/** Content of the errors that every operation gets, in a protocol of its own; until the document is complete. */
export const errorShape = "x-error-shape"

export const isErrorStatus = (status: string) => /^[45]/.test(status)

/** Gives the errors of an operation the content of another protocol. */
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
