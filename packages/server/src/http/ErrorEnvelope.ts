import { HttpServerResponse } from "@effect/platform"
import { Option, Predicate, Schema } from "effect"
import { countRefusal } from "./RequestTelemetry.ts"

const JsonObject = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const decode = Schema.decodeUnknownOption(JsonObject)

/** Converts an error's status and body to another format, of JSON unless it has a content type. */
export type ReshapeError = (
  status: number,
  body: unknown
) => { readonly status: number; readonly body: unknown; readonly contentType?: string }

/** Supports bodies in OpenAI's format. */
const codeOf = ({ code, error }: Readonly<Record<string, unknown>>) =>
  code ?? (Predicate.hasProperty(error, "code") ? error.code : undefined)

const readMembers = ({ body }: HttpServerResponse.HttpServerResponse) => {
  if (body._tag === "Raw") return Option.liftPredicate(body.body, Predicate.isReadonlyRecord)
  return body._tag === "Uint8Array" ? decode(new TextDecoder().decode(body.body)) : Option.none()
}

/** Adds the members of the group and the trace id to an error body, and counts it by its code. */
export const wrapErrorBody = (
  response: HttpServerResponse.HttpServerResponse,
  groupMembers: Readonly<Record<string, unknown>>,
  traceId: Option.Option<string>,
  reshape: ReshapeError = (status, body) => ({ status, body })
): HttpServerResponse.HttpServerResponse => {
  if (response.status < 400) return response
  const body = readMembers(response)
  const trace = Option.match(traceId, { onNone: () => ({}), onSome: (id) => ({ traceId: id }) })
  return Option.match(body, {
    onNone: () => response,
    onSome: (members) => {
      countRefusal(codeOf(members))
      const whole = Object.assign({}, groupMembers, members, trace)
      const { body: shaped, contentType = "application/json", status } = reshape(response.status, whole)
      const { cookies, headers } = response
      return HttpServerResponse.unsafeJson(shaped, { status, headers, cookies, contentType })
    }
  })
}
