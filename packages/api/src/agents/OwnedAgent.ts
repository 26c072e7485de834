import type { User } from "@berth/domain/shared/User"
import type { Agent } from "@berth/domain/agents/Agent"
import { HttpApiMiddleware } from "@effect/platform"
import { Context, Schema } from "effect"
import { AuthenticationRequiredBody, sessionCookie } from "../sessions/SessionAuth.ts"
import { AgentNotFoundBody } from "./AgentErrorBodies.ts"

/** The agent that the path names, proved to be the signed-in user's. */
export class OwnedAgent extends Context.Tag("@berth/OwnedAgent")<
  OwnedAgent,
  { readonly user: User; readonly agent: Agent }
>() {}

/** 401 without a session, then 404 for an agent that is not the caller's, before anything else of the request is looked at. */
export class AgentOwner extends HttpApiMiddleware.Tag<AgentOwner>()("AgentOwner", {
  provides: OwnedAgent,
  failure: Schema.Union(AuthenticationRequiredBody, AgentNotFoundBody),
  security: { session: sessionCookie }
}) {}
