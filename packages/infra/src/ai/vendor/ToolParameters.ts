/** A tool's JSON Schema as vendors take it: without the word for its dialect, and an object's at least. */
export const normalizeToolParameters = (
  parameters: Readonly<Record<string, unknown>>
): Readonly<Record<string, unknown>> => {
  const { $schema: _, ...schema } = parameters
  return schema["type"] === "object" ? schema : { ...schema, type: "object", properties: {} }
}
