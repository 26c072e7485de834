/** Returns the weights of the media ranges of an `Accept` header by RFC 9110, section 12.5.1. */
export const parseAcceptedRanges = (accept: string): ReadonlyMap<string, number> =>
  new Map(
    accept.split(",").map((entry) => {
      const [range = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1"
      return [range, Number(weight) || 0]
    })
  )
