import { ParseResult } from "effect"

/** Describes the first problems of a value in one sentence, without internal schema names. */
export const describeIssues = (error: ParseResult.ParseError): string =>
  [
    ...new Set(
      ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) =>
        `${path.length === 0 ? "" : `${path.join(".")}: `}${message}`.slice(0, 200)
      )
    )
  ]
    .slice(0, 5)
    .join("; ")
