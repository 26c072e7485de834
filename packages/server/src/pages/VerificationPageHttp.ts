import { Agents } from "@berth/domain/agents/Agents"
import { AgentId } from "@berth/domain/shared/AgentId"
import { Verifications } from "@berth/domain/verification/Verifications"
import { HttpLayerRouter, HttpRouter } from "@effect/platform"
import { Effect } from "effect"
import { makePlainRoute } from "../http/RouteTable.ts"
import { renderErrorPage } from "./ErrorPage.ts"
import { makePageResponse } from "./Layout.ts"
import { PageAssets } from "./PageAssets.ts"
import { makeSignedInPages } from "./SignedInPages.ts"
import { renderVerificationPage } from "./VerificationPage.ts"

const path = "/dashboard/agents/:id/verification"

export const verificationPageRoutes = [makePlainRoute("GET", path)]

/** The page on which an owner verifies an agent; 404 for agents of others. */
export const layer = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const assets = yield* PageAssets
    const agents = yield* Agents
    const verifications = yield* Verifications
    const signedIn = yield* makeSignedInPages

    const page = signedIn((user) =>
      Effect.gen(function* () {
        const { params } = yield* HttpRouter.RouteContext
        const agent = yield* agents.find(user.id, AgentId.make(params["id"] ?? ""))
        const verification = yield* verifications.find(user.id, agent.id)
        return makePageResponse(assets, {
          title: `Verification of ${agent.name}`,
          main: renderVerificationPage({ agent, verification }),
          script: "verification.js",
          isSignedIn: true
        })
      }).pipe(
        Effect.catchTag("AgentNotFound", () =>
          Effect.succeed(
            makePageResponse(
              assets,
              {
                title: "Not found",
                main: renderErrorPage(404, { message: "You have no agent with this id.", traceId: undefined }),
                isSignedIn: true
              },
              { status: 404 }
            )
          )
        )
      )
    )

    yield* router.add("GET", path, page)
  })
)
