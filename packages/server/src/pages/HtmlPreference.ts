import { parseAcceptedRanges } from "../http/AcceptedRanges.ts"

/** Whether the client prefers a page to JSON. Wildcards and an absent header mean JSON. */
export const prefersHtml = (accept: string | undefined): boolean => {
  if (accept === undefined) return false
  const weights = parseAcceptedRanges(accept)
  // The most specific range determines the weight of a type.
  const weigh = (main: string, sub: string) =>
    weights.get(`${main}/${sub}`) ?? weights.get(`${main}/*`) ?? weights.get("*/*") ?? 0
  return weigh("text", "html") > weigh("application", "json")
}
