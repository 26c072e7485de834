import { HttpApiSchema, HttpServerResponse } from "@effect/platform"
import { Schema, SchemaAST } from "effect"

/** Makes the response of an error outside of an endpoint, from its body in the contract or a union of bodies. */
export const makeErrorResponse = <A, I>(
  body: Schema.Schema<A, I>,
  error: A,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => {
  const bodies = SchemaAST.isUnion(body.ast) ? body.ast.types : [body.ast]
  const own = bodies.find((ast) => Schema.is(Schema.make(ast))(error)) ?? body.ast
  return HttpServerResponse.unsafeJson(Schema.encodeSync(body)(error), {
    status: HttpApiSchema.getStatusErrorAST(own),
    headers
  })
}
