import { Context, type DateTime, type Effect, type Option } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { ChatSessionId } from "../Conversation.ts"
import type { Attachment, AttachmentId } from "./Attachment.ts"

/** An agent of an owner: both are conditions of every statement. */
export interface AttachmentOwner {
  readonly userId: UserId
  readonly agentId: AgentId
}

/** Files of messages. One belongs to an agent, and to a conversation from its first message on. */
export class AttachmentRepository extends Context.Tag("@berth/AttachmentRepository")<
  AttachmentRepository,
  {
    /** False when the owner's files would exceed `ownerBytes`, where each counts as `leastBytes` at least. */
    readonly insert: (
      owner: AttachmentOwner,
      attachment: Attachment,
      content: Uint8Array,
      limits: { readonly ownerBytes: number; readonly leastBytes: number }
    ) => Effect.Effect<boolean>
    /** Those of the ids that the agent has, in their order. */
    readonly find: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>
    ) => Effect.Effect<ReadonlyArray<Attachment>>
    readonly findContent: (
      owner: AttachmentOwner,
      id: AttachmentId
    ) => Effect.Effect<Option.Option<Attachment & { readonly content: Uint8Array }>>
    /** The contents in base64, by id. */
    readonly readContents: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>
    ) => Effect.Effect<ReadonlyMap<string, { readonly mediaType: string; readonly base64: string }>>
    /** The texts of text files, by id. */
    readonly readTexts: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>
    ) => Effect.Effect<ReadonlyMap<string, string>>
    /** Gives unsent ones to a conversation; returns the number of those that it has then. */
    readonly claim: (
      owner: AttachmentOwner,
      ids: ReadonlyArray<AttachmentId>,
      sessionId: ChatSessionId
    ) => Effect.Effect<number>
    /** Deletes those that no message named, and returns their number. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
