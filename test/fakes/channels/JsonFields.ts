/* Type guards and readers for JSON requests. */

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const readField = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined)

/** Empty unless the member is a string. */
export const readText = (value: unknown, name: string): string => {
  const found = readField(value, name)
  return typeof found === "string" ? found : ""
}

export class FakeRefusal extends Error {
  readonly status: number
  readonly body: unknown
  constructor(status: number, body: unknown) {
    super(`Refused with ${status}`)
    this.status = status
    this.body = body
  }
}
