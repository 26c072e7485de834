import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { errorFields } from "../http/ErrorBody.ts"

/** 410: the operation was removed; `successor`, also in the `Link` header, replaces it. */
const DeprecatedOperation = Schema.Struct({
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

/** Removed operations. The API's description lists them; clients ignore operations without a success. */
export class DeprecatedApi extends HttpApiGroup.make("deprecated")
  .add(createAgent)
  .add(updateAgent)
  .add(deleteAgent)
  .add(checkout)
  .annotate(OpenApi.Exclude, true) {}
