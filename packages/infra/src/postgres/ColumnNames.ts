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

/** Hot path: the conversion builds a name of its characters, for each column of each row. */
export const toPropertyName = memoize(String.snakeToCamel)

export const toColumnName = memoize(String.camelToSnake)
