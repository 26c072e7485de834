import { summarizeIssues, toRequestIssue } from "@berth/api/http/RequestIssues"
import { ParseResult } from "effect"

/** Describes the first problems of a value in one sentence, without internal schema names. */
export const describeIssues = (error: ParseResult.ParseError): string =>
  summarizeIssues(ParseResult.ArrayFormatter.formatErrorSync(error).map(toRequestIssue))
    .slice(0, 5)
    .map(({ message, path }) => `${path === "" ? "" : `${path}: `}${message}`.slice(0, 200))
    .join("; ")
