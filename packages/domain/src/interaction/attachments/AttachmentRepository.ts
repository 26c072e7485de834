import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { ChatSessionId } from "../Conversation.ts"
import type { Attachment, AttachmentId } from "./Attachment.ts"

/** Agent and owner: both are conditions of every statement. */
export interface AttachmentOwner {
  readonly userId: UserId
  readonly agentId: AgentId
}

/** Files of messages. A file belongs to an agent, and from its first message to a conversation. */
export class AttachmentRepository extends Context.Tag("@berth/AttachmentRepository")<
  AttachmentRepository,
  {
    /** False if the owner's files would exceed `ownerBytes`; each counts as at least `leastBytes`. */
    readonly insert: (
      owner: AttachmentOwner,
      attachment: Attachment,
      content: Uint8Array,
      limits: { readonly ownerBytes: number; readonly leastBytes: number }
    ) => Effect.Effect<boolean>
    /** Returns the agent's attachments among the ids, in their order. */
    readonly find: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>
    ) => Effect.Effect<ReadonlyArray<Attachment>>
    readonly findContent: (
      owner: AttachmentOwner,
      id: AttachmentId
    ) => Effect.Effect<Option.Option<Attachment & { readonly content: Uint8Array }>>
    /** Returns contents in base64, by id. */
    readonly readContents: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>
    ) => Effect.Effect<ReadonlyMap<string, { readonly mediaType: string; readonly base64: string }>>
    /** Returns the texts of text files, by id. */
    readonly readTexts: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>
    ) => Effect.Effect<ReadonlyMap<string, string>>
    /** Assigns unsent attachments to a conversation; returns the number of `ids` that belong to it afterwards. */
    readonly claim: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>,
      sessionId: ChatSessionId
    ) => Effect.Effect<number>
    /** Deletes attachments without a message and returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
