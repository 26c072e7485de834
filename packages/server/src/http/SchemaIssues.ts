import { ParseResult } from "effect"

/** The first problems of a value in one sentence, without the internal names of its schema. */
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
