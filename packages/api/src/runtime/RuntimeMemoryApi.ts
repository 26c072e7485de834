import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
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
  .annotate(OpenApi.Summary, "Store a note of an agent")

const recall = HttpApiEndpoint.post("recall", runtimeRecallPath)
  .setPayload(RuntimeRecallQuery)
  .addSuccess(RuntimeRecollections)
  .addError(AgentNotInInstanceBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "Search notes and earlier conversations of an agent")

/** Memory of agents, for runtimes. */
export class RuntimeMemoryApi extends HttpApiGroup.make("runtimeMemory").add(note).add(recall) {}
