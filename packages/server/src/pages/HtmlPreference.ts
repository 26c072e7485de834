/** Returns the weight of a media type by the most specific range of an `Accept` header; 0 if unacceptable. */
const readPreference = (accept: string, type: string): number => {
  const [main = ""] = type.split("/")
  const ranges = new Map(
    accept.split(",").map((entry) => {
      const [range = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase())
      const weight = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1")
      return [range, Number.isFinite(weight) ? weight : 0] as const
    })
  )
  return ranges.get(type) ?? ranges.get(`${main}/*`) ?? ranges.get("*/*") ?? 0
}

/** Whether the client prefers a page to JSON. Wildcards and an absent header mean JSON. */
export const prefersHtml = (accept: string | undefined): boolean =>
  accept !== undefined && readPreference(accept, "text/html") > readPreference(accept, "application/json")
