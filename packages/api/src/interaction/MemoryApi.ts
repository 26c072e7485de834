import { ChatSessionId, MessageId } from "@berth/domain/interaction/Conversation"
import { maximumNotes } from "@berth/domain/interaction/memory/Memories"
import { NoteId, type MemoryMatch, type StoredNote } from "@berth/domain/interaction/memory/Recollection"
import { AgentId } from "@berth/domain/shared/AgentId"
import { maximumMemoryText } from "@berth/domain/skills/tools/ToolParameters"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { pageOf, pageQuery } from "../http/Pagination.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { NoteNotFoundBody } from "./InteractionErrorBodies.ts"

const noteFields = { id: NoteId, text: Schema.String, timestamp: Timestamp }
const Note = Schema.Struct(noteFields).annotations({ identifier: "Note" })

const Match = Schema.Union(
  Schema.Struct({ kind: Schema.Literal("note"), ...noteFields }),
  Schema.Struct({
    kind: Schema.Literal("message"),
    ...noteFields,
    id: MessageId,
    sessionId: ChatSessionId,
    sender: Schema.Literal("user", "agent", "person").annotations({
      description: "person: another person on a messaging channel"
    })
  })
).annotations({ identifier: "MemoryMatch" })

const MemoryText = Schema.Trim.pipe(Schema.minLength(1), Schema.maxLength(maximumMemoryText)).annotations({
  jsonSchema: { type: "string", minLength: 1, maxLength: maximumMemoryText }
})

const path = Schema.Struct({ id: AgentId })

const list = HttpApiEndpoint.get("list", "/api/agents/:id/memory/notes")
  .setPath(path)
  .setUrlParams(pageQuery)
  .addSuccess(pageOf({ notes: Schema.Array(Note) }))
  .annotate(OpenApi.Summary, "List the notes of an agent")
  .annotate(OpenApi.Description, "Newest first. Every turn of the owner starts with the newest notes.")

const create = HttpApiEndpoint.post("create", "/api/agents/:id/memory/notes")
  .setPath(path)
  .setPayload(payload({ text: MemoryText }))
  .addSuccess(Schema.Struct({ note: Note }), { status: 201 })
  .annotate(OpenApi.Summary, "Add a note to an agent's memory")
  .annotate(
    OpenApi.Description,
    `A repeated text renews the existing note. The oldest notes above ${maximumNotes} are deleted.`
  )

const remove = HttpApiEndpoint.del("remove", "/api/agents/:id/memory/notes/:noteId")
  .setPath(Schema.Struct({ id: AgentId, noteId: NoteId }))
  .addSuccess(HttpApiSchema.NoContent)
  .addError(NoteNotFoundBody)
  .annotate(OpenApi.Summary, "Delete a note")

const search = HttpApiEndpoint.get("search", "/api/agents/:id/memory/search")
  .setPath(path)
  .setUrlParams(payload({ query: MemoryText }))
  .addSuccess(Schema.Struct({ matches: Schema.Array(Match) }))
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "Search an agent's memory")
  .annotate(
    OpenApi.Description,
    "Searches notes and answered messages for any word of the query, best match first. Texts are excerpts."
  )

export class MemoryApi extends HttpApiGroup.make("memory")
  .add(list)
  .add(create)
  .add(remove)
  .add(search)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("chat"))
  .addError(InternalFailureBody) {}

export const makeNote = ({ at, id, text }: StoredNote) => ({ id, text, timestamp: at })

export const makeMatch = ({ at, ...match }: MemoryMatch) => ({ ...match, timestamp: at })
