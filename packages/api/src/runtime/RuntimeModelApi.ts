import type { UserId } from "@berth/domain/shared/User"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, HttpApiSecurity } from "@effect/platform"
import { Context, Data, Schema } from "effect"
import { errorBody } from "../http/ErrorBody.ts"
import { runtimeModelPath, RuntimeModelRequest } from "./RuntimeContract.ts"

export class RuntimeTokenInvalid extends Data.TaggedError("RuntimeTokenInvalid")<object> {}
/** The cell asks for an agent that its owner does not have. */
export class AgentNotInInstance extends Data.TaggedError("AgentNotInInstance")<object> {}

const RuntimeTokenInvalidBody = errorBody(RuntimeTokenInvalid, {
  status: 401,
  code: "cell_token_required",
  error: "Unauthorized",
  message: "This endpoint is for cells and wants a cell's token.",
  read: () => new RuntimeTokenInvalid()
})
export const AgentNotInInstanceBody = errorBody(AgentNotInInstance, {
  status: 404,
  code: "agent_not_in_cell",
  error: "Agent not found",
  message: "This cell has no such agent.",
  read: () => new AgentNotInInstance()
})

/** The owner of the cell that calls. */
export class RuntimeOwner extends Context.Tag("@berth/RuntimeOwner")<RuntimeOwner, UserId>() {}

/** Only a cell passes, by its own token; what it asks for is metered on its owner. */
export class RuntimeAuth extends HttpApiMiddleware.Tag<RuntimeAuth>()("RuntimeAuth", {
  provides: RuntimeOwner,
  failure: RuntimeTokenInvalidBody,
  security: { cell: HttpApiSecurity.bearer }
}) {}

/** The AI layer for cells; answers with server-sent `RuntimeModelEvent`s. */
const complete = HttpApiEndpoint.post("complete", runtimeModelPath)
  .setPayload(RuntimeModelRequest)
  .addSuccess(HttpApiSchema.withEncoding(Schema.String, { kind: "Text", contentType: "text/event-stream" }))
  .addError(AgentNotInInstanceBody)
  .middleware(RuntimeAuth)

export class RuntimeModelApi extends HttpApiGroup.make("cellModel").add(complete) {}
