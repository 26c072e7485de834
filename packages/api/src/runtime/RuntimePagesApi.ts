import { PageNotReadable } from "@berth/domain/skills/web/WebPages"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { RuntimePageQuery, runtimePagesPath } from "./RuntimeContract.ts"
import { RuntimeAuth, TurnNotInProgressBody } from "./RuntimeModelApi.ts"

const PageNotReadableBody = reasonErrorBody(PageNotReadable, {
  status: 422,
  error: "Page not readable",
  example: "The page responded 404."
})

const open = HttpApiEndpoint.post("open", runtimePagesPath)
  .setPayload(RuntimePageQuery)
  .addSuccess(HttpApiSchema.Uint8Array())
  .addError(PageNotReadableBody)
  .addError(RateLimitExceededBody)
  .addError(TurnNotInProgressBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "Fetch a web page for an agent")

/** Web pages for runtimes, whose networks have no internet access. */
export class RuntimePagesApi extends HttpApiGroup.make("runtimePages").add(open) {}
