import { RuntimePageQuery, runtimePagesPath } from "@berth/api/runtime/RuntimeContract"
import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { PageNotReadable } from "@berth/domain/skills/web/WebPages"
import { Effect, Layer, Stream } from "effect"
import { type BackendAccess, makeBackendPost } from "../../Backend.ts"
import { PageSource } from "./PageSource.ts"

/** Pages through the backend, since instances have no internet access. */
export const layer = (access: BackendAccess) =>
  Layer.effect(
    PageSource,
    Effect.map(makeBackendPost(access, "The backend"), (post) =>
      PageSource.of({
        open: Effect.fn("PageSource.open")(function* ({ id: agentId, messageId }, url) {
          const { headers, stream } = yield* post(runtimePagesPath, RuntimePageQuery, { agentId, messageId, url })
          const { "content-location": location = "", "content-type": contentType = "" } = headers
          if (!URL.canParse(location)) return yield* new ToolFailed({ reason: "The backend named no page." })
          return {
            url: new URL(location),
            contentType,
            body: Stream.mapError(stream, () => new PageNotReadable({ reason: "The page broke off in the middle." }))
          }
        })
      })
    )
  )
