import { assert } from "vitest"

/** Expected shape: exactly the fields of an object, each element of a list, or a check. */
export type ResponseShape =
  ((value: unknown) => boolean) | { readonly [member: string]: ResponseShape } | readonly [ResponseShape]

export const nonEmptyText = (value: unknown) => typeof value === "string" && value !== ""
export const booleanValue = (value: unknown) => typeof value === "boolean"
export const finiteNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value)
export const naturalNumber = (value: unknown) => Number.isInteger(value) && Number(value) >= 0
export const equalTo = (expected: unknown) => (value: unknown) => value === expected
export const matchingPattern = (pattern: RegExp) => (value: unknown) => typeof value === "string" && pattern.test(value)
export const prefixedId = (prefix: string) => matchingPattern(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
export const orNull = (check: (value: unknown) => boolean) => (value: unknown) => value === null || check(value)
/** An object of any members, each of which passes. */
export const recordOf = (check: (value: unknown) => boolean) => (value: unknown) =>
  typeof value === "object" && value !== null && Object.values(value).every(check)

const aDay = 24 * 60 * 60 * 1000
const isRecent = (millis: number) => Math.abs(new Date().getTime() - millis) < aDay
/** ISO 8601 in UTC, near the current time. */
export const recentTimestamp = (value: unknown) =>
  matchingPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)(value) && isRecent(Date.parse(String(value)))
/** Whole milliseconds since 1970, near the current time. */
export const recentEpochMillis = (value: unknown) => Number.isInteger(value) && isRecent(Number(value))

const isList = (shape: ResponseShape): shape is readonly [ResponseShape] => Array.isArray(shape)

/** Fails with the path of a difference. A list must have an element, or it proves nothing. */
export const assertShape = (value: unknown, shape: ResponseShape, where = "body"): void => {
  if (typeof shape === "function") {
    assert.isTrue(shape(value), `${where} is ${JSON.stringify(value)}`)
  } else if (isList(shape)) {
    assert.isTrue(Array.isArray(value) && value.length > 0, `${where} is no list with something in it`)
    const elements: ReadonlyArray<unknown> = Array.isArray(value) ? value : []
    for (const [index, element] of elements.entries()) assertShape(element, shape[0], `${where}.${index}`)
  } else {
    assert.isTrue(typeof value === "object" && value !== null, `${where} is ${JSON.stringify(value)}`)
    const members = new Map<string, unknown>(typeof value === "object" && value !== null ? Object.entries(value) : [])
    assert.deepStrictEqual([...members.keys()].toSorted(), Object.keys(shape).toSorted(), where)
    for (const [member, part] of Object.entries(shape)) assertShape(members.get(member), part, `${where}.${member}`)
  }
}
