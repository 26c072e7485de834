import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import {
  RuntimeNote,
  runtimeNotesPath,
  RuntimeRecallQuery,
  runtimeRecallPath,
  RuntimeRecollections
} from "./RuntimeContract.ts"
import { AgentNotInInstanceBody, RuntimeAuth, TurnNotInProgressBody } from "./RuntimeModelApi.ts"

const note = HttpApiEndpoint.post("note", runtimeNotesPath)
  .setPayload(RuntimeNote)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(AgentNotInInstanceBody)
  .addError(TurnNotInProgressBody)
  .middleware(RuntimeAuth)

const recall = HttpApiEndpoint.post("recall", runtimeRecallPath)
  .setPayload(RuntimeRecallQuery)
  .addSuccess(RuntimeRecollections)
  .addError(AgentNotInInstanceBody)
  .middleware(RuntimeAuth)

/** Memory of agents, for runtimes. */
export class RuntimeMemoryApi extends HttpApiGroup.make("runtimeMemory").add(note).add(recall) {}
