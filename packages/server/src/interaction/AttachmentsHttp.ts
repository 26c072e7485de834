import { OwnedAgent } from "@berth/api/agents/OwnedAgent"
import { WebApi } from "@berth/api/WebApi"
import { isImage } from "@berth/domain/interaction/attachments/Attachment"
import { Attachments } from "@berth/domain/interaction/attachments/Attachments"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

/** RFC 6266, with the name encoded by RFC 8187. */
const disposition = (type: "attachment" | "inline", name: string) => {
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
  return `${type}; filename*=UTF-8''${encoded}`
}

export const layer = group(WebApi, "attachments", (handlers) =>
  Effect.map(Attachments, (attachments) =>
    handlers
      .handle("upload", ({ request, urlParams: { name } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          // The pipeline responds to invalid bodies.
          const content = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          return { attachment: yield* attachments.upload(agent, name, content) }
        })
      )
      .handleRaw("read", ({ path: { attachmentId } }) =>
        Effect.gen(function* () {
          const { agent } = yield* OwnedAgent
          const attachment = yield* attachments.find(agent, attachmentId)
          return HttpServerResponse.uint8Array(attachment.content, {
            contentType: isImage(attachment) ? attachment.mediaType : "text/plain; charset=utf-8",
            headers: {
              "content-disposition": disposition(isImage(attachment) ? "inline" : "attachment", attachment.name),
              "content-security-policy": "default-src 'none'; sandbox",
              "cross-origin-resource-policy": "same-origin",
              // Contents never change, but another account of the browser must not see them.
              "cache-control": "private, max-age=3600, immutable",
              vary: "cookie, authorization"
            }
          })
        })
      )
  )
)
