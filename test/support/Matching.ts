import { assert } from "@effect/vitest"

/** Asserts the given members at any depth; arrays match in length and order. */
export const assertMatches = (actual: unknown, expected: unknown, path = "value"): void => {
  if (Array.isArray(expected)) {
    assert.isArray(actual, path)
    if (!Array.isArray(actual)) return
    assert.lengthOf(actual, expected.length, path)
    for (const [at, one] of expected.entries()) assertMatches(actual[at], one, `${path}[${at}]`)
  } else if (typeof expected === "object" && expected !== null) {
    if (typeof actual !== "object" || actual === null) return assert.fail(actual, expected, `${path} is no object`)
    // Errors and Effect's data types have getters on their prototypes.
    for (const [key, one] of Object.entries(expected)) {
      const member: unknown = Reflect.get(actual, key)
      assertMatches(member, one, `${path}.${key}`)
    }
  } else assert.strictEqual(actual, expected, path)
}
