type Document = Readonly<Record<string, unknown>>

const makeOperation = (operationId: string, summary: string, responses: Document) => ({
  get: { tags: ["health"], operationId, summary, parameters: [], security: [], responses }
})

const respond = (description: string, schema: Document, example: Document) => ({
  description,
  content: { "application/json": { schema, example } }
})

const makeReadiness = (description: string, status: string, isUp: boolean) =>
  respond(
    description,
    {
      type: "object",
      required: ["status", "checks"],
      properties: {
        status: { type: "string", enum: [status] },
        checks: {
          type: "object",
          description: "Dependencies by name, and whether they respond",
          additionalProperties: { type: "boolean" }
        }
      }
    },
    { status, checks: { database: isUp } }
  )

const live = makeOperation("health.live", "Report that the process runs", {
  "200": respond(
    "The process runs",
    { type: "object", required: ["status"], properties: { status: { type: "string", enum: ["ok"] } } },
    { status: "ok" }
  )
})

const ready = makeOperation("health.ready", "Report whether the dependencies of the process respond", {
  "200": makeReadiness("Every dependency responds", "ok", true),
  "503": makeReadiness("A dependency does not respond", "unavailable", false)
})

/** Operations of `Health.ts`, which both listeners serve outside of their contracts. */
export const healthDocument = {
  tags: [{ name: "health" }],
  paths: { "/health/live": live, "/health/ready": ready }
}
