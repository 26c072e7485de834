import type { UserId } from "@berth/domain/accounts/User"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, HttpApiSecurity } from "@effect/platform"
import { Context, Data, Schema } from "effect"
import { errorBody } from "../http/ErrorBody.ts"
import { cellModelPath, CellModelRequest } from "./CellContract.ts"

export class CellTokenIsWrong extends Data.TaggedError("CellTokenIsWrong")<object> {}
/** The cell asks for an agent that its owner does not have. */
export class AgentIsNotInCell extends Data.TaggedError("AgentIsNotInCell")<object> {}

const CellTokenIsWrongBody = errorBody(CellTokenIsWrong, {
  status: 401,
  code: "cell_token_required",
  error: "Unauthorized",
  message: "This endpoint is for cells and wants a cell's token.",
  read: () => new CellTokenIsWrong()
})
export const AgentIsNotInCellBody = errorBody(AgentIsNotInCell, {
  status: 404,
  code: "agent_not_in_cell",
  error: "Agent not found",
  message: "This cell has no such agent.",
  read: () => new AgentIsNotInCell()
})

/** The owner of the cell that calls. */
export class CellOwner extends Context.Tag("@berth/CellOwner")<CellOwner, UserId>() {}

/** Only a cell passes, by its own token; what it asks for is metered on its owner. */
export class CellAuth extends HttpApiMiddleware.Tag<CellAuth>()("CellAuth", {
  provides: CellOwner,
  failure: CellTokenIsWrongBody,
  security: { cell: HttpApiSecurity.bearer }
}) {}

/** The AI layer for cells; answers with server-sent `CellModelEvent`s. */
const complete = HttpApiEndpoint.post("complete", cellModelPath)
  .setPayload(CellModelRequest)
  .addSuccess(HttpApiSchema.withEncoding(Schema.String, { kind: "Text", contentType: "text/event-stream" }))
  .addError(AgentIsNotInCellBody)
  .middleware(CellAuth)

export class CellModelApi extends HttpApiGroup.make("cellModel").add(complete) {}
