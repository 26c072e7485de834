import { WebApi } from "@berth/api/WebApi"
import { HttpApp, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"

const respondGone = (method: string, path: string) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(HttpServerResponse.setHeader(response, "link", `<${path}>; rel="successor-version"`))
  ).pipe(
    Effect.as({
      error: "Gone",
      message: `This operation is gone. Use ${method} ${path} instead.`,
      code: "deprecated" as const,
      successor: `${method} ${path}`
    })
  )

export const layer = group(WebApi, "deprecated", (handlers) =>
  Effect.succeed(
    handlers
      .handle("createAgent", () => respondGone("POST", "/api/agents/provision"))
      .handle("updateAgent", ({ path }) => respondGone("PUT", `/api/agents/${encodeURIComponent(path.id)}/config`))
      .handle("deleteAgent", ({ path }) =>
        respondGone("DELETE", `/api/agents/provision/${encodeURIComponent(path.id)}`)
      )
      .handle("checkout", () => respondGone("GET", "/api/cardProcessor/checkout"))
  )
)
