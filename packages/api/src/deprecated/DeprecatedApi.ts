import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { errorFields } from "../http/ErrorBody.ts"

/** 410: the operation is gone; `successor` is what to use instead, also in the `Link` header. */
export const DeprecatedOperation = Schema.Struct({
  ...errorFields("deprecated"),
  successor: Schema.String
}).annotations({ identifier: "Deprecated" })

const gone = { status: 410 } as const
const anyId = Schema.Struct({ id: Schema.String })

const createAgent = HttpApiEndpoint.post("createAgent", "/api/agents").addSuccess(DeprecatedOperation, gone)
const updateAgent = HttpApiEndpoint.put("updateAgent", "/api/agents/:id")
  .setPath(anyId)
  .addSuccess(DeprecatedOperation, gone)
const deleteAgent = HttpApiEndpoint.del("deleteAgent", "/api/agents/:id")
  .setPath(anyId)
  .addSuccess(DeprecatedOperation, gone)
const checkout = HttpApiEndpoint.post("checkout", "/api/checkout").addSuccess(DeprecatedOperation, gone)

/** Operations that the service once had. The API's description lists them; an operation without a success is none to call. */
export class DeprecatedApi extends HttpApiGroup.make("deprecated")
  .add(createAgent)
  .add(updateAgent)
  .add(deleteAgent)
  .add(checkout)
  .annotate(OpenApi.Exclude, true) {}
