import { mapRecord, recordOf } from "./OpenApiExamples.ts"

const jsonType = "application/json"

/**
 * Documents a JSON media type of another protocol: beside `application/json` for the request body, and in its place for
 * successes, since alternatives of a status lose their media type.
 */
export const documentMediaType =
  (type: string) =>
  (operation: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const body = recordOf(operation["requestBody"])
    const { [jsonType]: json, ...otherBodies } = recordOf(body["content"])
    const responses = mapRecord(operation["responses"], (response, status) => {
      const { [jsonType]: success, ...others } = recordOf(recordOf(response)["content"])
      return success === undefined || !status.startsWith("2")
        ? response
        : { ...recordOf(response), content: { [type]: success, ...others } }
    })
    return {
      ...operation,
      ...(json === undefined
        ? {}
        : { requestBody: { ...body, content: { [jsonType]: json, [type]: json, ...otherBodies } } }),
      responses
    }
  }
