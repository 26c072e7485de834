import { Effect, Option } from "effect"
import type { ContentPart } from "../../ai/chat/ContentPart.ts"
import type { ChatMessage } from "../../ai/chat/ModelChat.ts"
import type { Agent } from "../../agents/Agent.ts"
import { Agents } from "../../agents/Agents.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { IdempotentExecution } from "../../limits/IdempotentExecution.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { ChatSession, Message } from "../Conversation.ts"
import { fitHistory } from "../conversations/HistoryWindow.ts"
import {
  Attachment,
  AttachmentId,
  AttachmentInvalid,
  AttachmentLimitReached,
  attachmentLimits,
  AttachmentNotFound,
  checkAttachments,
  cleanFileName,
  countLeastCharacters,
  describeAttachments,
  findReferencedImage,
  ImagesNotSupported,
  isImage,
  readAttachmentType,
  readNamedAttachments
} from "./Attachment.ts"
import { type AttachmentOwner, AttachmentRepository } from "./AttachmentRepository.ts"
import { OwnerModels } from "../../ai/models/OwnerModels.ts"

/** Attachments of a message before it is stored. */
export interface MessageAttachments<E> {
  readonly attachments: ReadonlyArray<Attachment>
  /** Assigns the attachments to the message's conversation, in its transaction. */
  readonly claim: Effect.Effect<void, E>
}

const toOwner = ({ id, ownerId }: Agent): AttachmentOwner => ({ agentId: id, userId: ownerId })

/** Files that owners upload and reference in messages. */
export class Attachments extends Effect.Service<Attachments>()("@berth/Attachments", {
  effect: Effect.gen(function* () {
    const repository = yield* AttachmentRepository
    const agents = yield* Agents
    const models = yield* OwnerModels
    const ids = yield* IdGenerator
    const transaction = yield* Transaction
    const { run } = yield* IdempotentExecution

    const insert = Effect.fnUntraced(function* (owner: AttachmentOwner, attachment: Attachment, content: Uint8Array) {
      if (!(yield* repository.insert(owner, attachment, content, attachmentLimits)))
        return yield* new AttachmentLimitReached({ limit: attachmentLimits.ownerBytes })
    })

    const makeId = Effect.map(ids.next("att"), (id) => AttachmentId.make(id))

    const upload = Effect.fn("Attachments.upload")(function* (agent: Agent, fileName: string, content: Uint8Array) {
      const mediaType = yield* readAttachmentType(content)
      const attachment = { id: yield* makeId, name: cleanFileName(fileName), mediaType, size: content.length }
      return yield* transaction.run(run(Attachment, Effect.as(insert(toOwner(agent), attachment, content), attachment)))
    })

    const find = Effect.fn("Attachments.find")(function* (agent: Agent, id: AttachmentId) {
      const found = yield* repository.findContent(toOwner(agent), id)
      return yield* Effect.mapError(found, () => new AttachmentNotFound())
    })

    const requireImageInput = Effect.fnUntraced(function* ({ agentId, userId }: AttachmentOwner) {
      const { customModel, model } = yield* agents.find(userId, agentId)
      const modelId = customModel ?? model
      if (!(yield* models.acceptsImages(userId, modelId))) return yield* new ImagesNotSupported({ model: modelId })
    })

    /** Finds the attachments of a message in a conversation. Images require a model that accepts them. */
    const attach = Effect.fn("Attachments.attach")(function* (
      userId: UserId,
      named: ReadonlyArray<AttachmentId>,
      { agentId, id: sessionId }: ChatSession
    ) {
      const owner = { userId, agentId }
      const attachmentIds = yield* readNamedAttachments(named)
      const attachments = yield* checkAttachments(yield* repository.find(owner, attachmentIds))
      if (attachments.length < attachmentIds.length) return yield* new AttachmentNotFound()
      if (attachments.some(isImage)) yield* requireImageInput(owner)
      const claim = Effect.flatMap(repository.claim(owner, attachmentIds, sessionId), (claimed) =>
        claimed === attachmentIds.length ? Effect.void : new AttachmentNotFound()
      )
      return { attachments, claim } satisfies MessageAttachments<AttachmentNotFound>
    })

    /** Attaches the images in a message. They are stored in its transaction, so a rejected message stores none. */
    const attachImages = Effect.fn("Attachments.attachImages")(function* (
      userId: UserId,
      contents: ReadonlyArray<Uint8Array>,
      { agentId, id: sessionId }: ChatSession
    ) {
      const owner = { userId, agentId }
      const drafts = yield* Effect.forEach(contents, (content, at) =>
        Effect.gen(function* () {
          const mediaType = yield* readAttachmentType(content)
          if (!isImage({ mediaType })) return yield* new AttachmentInvalid({ reason: "An image is a text file." })
          const name = `image-${at + 1}.${mediaType.slice("image/".length)}`
          return { content, attachment: { id: yield* makeId, name, mediaType, size: content.length } }
        })
      )
      const attachments = yield* checkAttachments(drafts.map(({ attachment }) => attachment))
      yield* requireImageInput(owner)
      const stored = Effect.forEach(drafts, ({ attachment, content }) => insert(owner, attachment, content))
      const claimed = repository.claim(
        owner,
        attachments.map(({ id }) => id),
        sessionId
      )
      const claim = Effect.asVoid(Effect.zipRight(stored, claimed))
      return { attachments, claim } satisfies MessageAttachments<AttachmentLimitReached>
    })

    return { attach, attachImages, find, upload }
  })
}) {}

interface PromptedMessage {
  readonly content: string
  readonly images: ReadonlyArray<AttachmentId>
}

type MessageWithFiles = Pick<Message, "attachments" | "content">

const idsOf = (messages: ReadonlyArray<MessageWithFiles>, select: (attachment: Attachment) => boolean) =>
  messages.flatMap(({ attachments }) => (attachments ?? []).filter(select).map(({ id }) => id))

/**
 * Writes text files into messages and references the newest images. Executes no statement without attachments. Omits
 * earlier messages that exceed the history, without reading their files.
 */
export const makeAttachmentPrompts = Effect.map(
  AttachmentRepository,
  (repository) =>
    <M extends MessageWithFiles>(owner: AttachmentOwner, earlier: ReadonlyArray<M>, last: M) => {
      const fitting = fitHistory(earlier, undefined, ({ attachments, content }) =>
        countLeastCharacters(content, attachments ?? [])
      )
      const messages = [...fitting, last]
      const shown = new Set(idsOf(messages, isImage).slice(-attachmentLimits.promptImages))
      const toPrompt =
        (texts: ReadonlyMap<string, string>) =>
        (message: M): M & PromptedMessage => ({
          images: idsOf([message], isImage).filter((id) => shown.has(id)),
          ...message,
          content: describeAttachments(message.content, message.attachments ?? [], texts)
        })
      const read = messages.every(({ attachments }) => attachments === null)
        ? Effect.succeed(new Map<string, string>())
        : repository.readTexts(
            owner,
            idsOf(messages, (attachment) => !isImage(attachment))
          )
      return Effect.map(read, (texts) => ({
        before: fitting.map(toPrompt(texts)),
        prompted: toPrompt(texts)(last)
      }))
    }
)

const mapImages = (
  messages: ReadonlyArray<ChatMessage>,
  toPart: (id: AttachmentId) => ContentPart | undefined
): ReadonlyArray<ChatMessage> =>
  messages.map((message) =>
    message.role !== "user" || message.parts === undefined
      ? message
      : {
          ...message,
          parts: message.parts.flatMap((part) => {
            const id = findReferencedImage(part)
            return id === undefined ? [part] : Option.toArray(Option.fromNullable(toPart(id)))
          })
        }
  )

export const listReferencedImages = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<AttachmentId> =>
  messages.flatMap((message) =>
    message.role === "user" ? (message.parts ?? []).flatMap((part) => findReferencedImage(part) ?? []) : []
  )

/** Drops image references for a model without image input; the texts name the images. */
export const dropReferencedImages = (messages: ReadonlyArray<ChatMessage>) => mapImages(messages, () => undefined)

/** Replaces image ids with the data of the images. Omits deleted images. */
export const makeImageLoading = Effect.map(
  AttachmentRepository,
  (repository) => (owner: AttachmentOwner, messages: ReadonlyArray<ChatMessage>) => {
    const ids = listReferencedImages(messages).slice(-attachmentLimits.promptImages)
    return ids.length === 0
      ? Effect.succeed(messages)
      : Effect.map(repository.readContents(owner, ids), (contents) =>
          mapImages(messages, (id) => {
            const found = contents.get(id)
            return found === undefined
              ? undefined
              : {
                  type: "image",
                  source: { type: "data", mediaType: found.mediaType, data: found.base64 }
                }
          })
        )
  }
)
