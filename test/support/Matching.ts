import { assert } from "@effect/vitest"

/** Asserts the given members at any depth; arrays have the same length and order. */
export const assertMatches = (actual: unknown, expected: unknown, path = "value"): void => {
  if (Array.isArray(expected)) {
    assert.isArray(actual, path)
    if (!Array.isArray(actual)) return
    assert.lengthOf(actual, expected.length, path)
    for (const [at, one] of expected.entries()) assertMatches(actual[at], one, `${path}[${at}]`)
  } else if (typeof expected === "object" && expected !== null) {
    assert.isObject(actual, path)
    const members = new Map<string, unknown>(Object.entries(actual ?? {}))
    for (const [key, one] of Object.entries(expected)) assertMatches(members.get(key), one, `${path}.${key}`)
  } else assert.strictEqual(actual, expected, path)
}
