import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { CellNote, cellNotesPath, CellQuestion, cellRecallPath, CellRecollections } from "./CellContract.ts"
import { AgentIsNotInCellBody, CellAuth } from "./CellModelApi.ts"

/** Keeps a note of the agent. */
const note = HttpApiEndpoint.post("note", cellNotesPath)
  .setPayload(CellNote)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(AgentIsNotInCellBody)
  .middleware(CellAuth)

/** What the agent's notes and conversations say to a question, best match first. */
const recall = HttpApiEndpoint.post("recall", cellRecallPath)
  .setPayload(CellQuestion)
  .addSuccess(CellRecollections)
  .addError(AgentIsNotInCellBody)
  .middleware(CellAuth)

/** What agents remember, for their cells. */
export class CellMemoryApi extends HttpApiGroup.make("cellMemory").add(note).add(recall) {}
