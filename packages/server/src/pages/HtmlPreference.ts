/** How much a media type is wanted, by the most exact range of an `Accept` header that names it; 0 is not at all. */
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

/** Whether a page is wanted rather than JSON. Programs, which take anything or say nothing, get JSON. */
export const prefersHtml = (accept: string | undefined): boolean =>
  accept !== undefined && readPreference(accept, "text/html") > readPreference(accept, "application/json")
