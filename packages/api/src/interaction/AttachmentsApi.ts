import {
  Attachment,
  AttachmentId,
  AttachmentInvalid,
  AttachmentLimitReached,
  attachmentLimits,
  AttachmentNotFound,
  AttachmentType,
  ImagesNotSupported
} from "@berth/domain/interaction/attachments/Attachment"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentOwner } from "../agents/OwnedAgent.ts"
import { recordOf } from "../http/OpenApiExamples.ts"
import { plainErrorBody, reasonErrorBody, fieldsErrorBody } from "../http/ErrorBody.ts"
import {
  BodyMalformedBody,
  BodyTooLargeBody,
  InternalFailureBody,
  RequestTimeoutBody
} from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"

export const AttachmentInvalidBody = reasonErrorBody(AttachmentInvalid, {
  status: 400,
  error: "Attachment invalid",
  example: "The file is empty."
})
export const AttachmentNotFoundBody = plainErrorBody(AttachmentNotFound, {
  status: 404,
  error: "Attachment not found",
  message: "This agent has no attachment with this id, or another conversation has it."
})
export const AttachmentLimitReachedBody = fieldsErrorBody(AttachmentLimitReached, {
  status: 429,
  error: "Too many attachments",
  message: ({ limit }) =>
    `Your attachments have ${limit} bytes, which is the limit. Delete conversations that hold some.`,
  members: Schema.Struct({ limit: Schema.Int }),
  example: { limit: attachmentLimits.ownerBytes }
})
export const ImagesNotSupportedBody = fieldsErrorBody(ImagesNotSupported, {
  status: 400,
  error: "Images not supported",
  message: ({ model }) => `The model ${model} accepts no images. Choose another model, or send no images.`,
  members: Schema.Struct({ model: Schema.String }),
  example: { model: "openai/gpt-4" }
})

/** Whether the path is for uploads, which have a separate limit. */
export const isAttachmentUpload = (path: string): boolean => /^\/api\/agents\/[^/]+\/attachments$/.test(path)

const agentPath = Schema.Struct({ id: AgentId })

const { files, imageBytes, leastBytes, ownerBytes, textBytes } = attachmentLimits

const upload = HttpApiEndpoint.post("upload", "/api/agents/:id/attachments")
  .setPath(agentPath)
  .setUrlParams(Schema.Struct({ name: Schema.String.annotations({ description: "File name" }) }))
  .addSuccess(Schema.Struct({ attachment: Attachment }), { status: 201 })
  .addError(AttachmentInvalidBody)
  .addError(AttachmentLimitReachedBody)
  .addError(BodyMalformedBody)
  .addError(BodyTooLargeBody)
  .addError(RequestTimeoutBody)
  .addError(IdempotencyErrors)
  .annotateContext(
    OpenApi.annotations({
      summary: "Upload a file for a message",
      description: `The body is the file: a PNG, JPEG, WebP or GIF image of at most ${imageBytes} bytes, or a text file in UTF-8 of at most ${textBytes} bytes. Its type is determined from its bytes. Reference the id in \`attachments\` of POST /api/agent, POST /api/chat or a \`chat\` frame: at most ${files} per message. A file without a message is deleted after a day. Your files have at most ${ownerBytes} bytes in total; each counts as at least ${leastBytes}.`
    })
  )
  .annotateContext(
    acceptApiKeys("chat", (operation) => ({
      ...operation,
      requestBody: {
        required: true,
        content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } }
      }
    }))
  )

const read = HttpApiEndpoint.get("read", "/api/agents/:id/attachments/:attachmentId")
  .setPath(Schema.Struct({ ...agentPath.fields, attachmentId: AttachmentId }))
  .addSuccess(
    HttpApiSchema.withEncoding(Schema.Uint8ArrayFromSelf, {
      kind: "Uint8Array",
      contentType: "application/octet-stream"
    })
  )
  .addError(AttachmentNotFoundBody)
  .annotateContext(
    OpenApi.annotations({
      summary: "Retrieve an attachment",
      description: "Returns an image with its type, or text/plain as a download."
    })
  )
  .annotateContext(
    acceptApiKeys("chat", (operation) => ({
      ...operation,
      responses: {
        ...recordOf(operation["responses"]),
        200: {
          description: "The file",
          content: Object.fromEntries(
            AttachmentType.literals.map((type) => [type, { schema: { type: "string", format: "binary" } }])
          )
        }
      }
    }))
  )

export class AttachmentsApi extends HttpApiGroup.make("attachments")
  .add(upload)
  .add(read)
  .middlewareEndpoints(AgentOwner)
  .addError(InternalFailureBody) {}
