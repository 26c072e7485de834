import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import {
  RuntimeNote,
  runtimeNotesPath,
  RuntimeRecallQuery,
  runtimeRecallPath,
  RuntimeRecollections
} from "./RuntimeContract.ts"
import { AgentNotInInstanceBody, RuntimeAuth } from "./RuntimeModelApi.ts"

/** Keeps a note of the agent. */
const note = HttpApiEndpoint.post("note", runtimeNotesPath)
  .setPayload(RuntimeNote)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(AgentNotInInstanceBody)
  .middleware(RuntimeAuth)

/** What the agent's notes and conversations say to a question, best match first. */
const recall = HttpApiEndpoint.post("recall", runtimeRecallPath)
  .setPayload(RuntimeRecallQuery)
  .addSuccess(RuntimeRecollections)
  .addError(AgentNotInInstanceBody)
  .middleware(RuntimeAuth)

/** What agents remember, for their cells. */
export class RuntimeMemoryApi extends HttpApiGroup.make("cellMemory").add(note).add(recall) {}
