import { String } from "effect"

/** The names are those of the statements in the code, so their number is bounded. */
const memoize = (convert: (name: string) => string) => {
  const known = new Map<string, string>()
  return (name: string): string => {
    const found = known.get(name)
    if (found !== undefined) return found
    const converted = convert(name)
    known.set(name, converted)
    return converted
  }
}

/** Hot path: converted for each column of each row; `String.snakeToCamel` appends single characters. */
export const toPropertyName = memoize(String.snakeToCamel)

export const toColumnName = memoize(String.camelToSnake)
