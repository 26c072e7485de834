import type { User } from "@berth/domain/shared/User"
import type { Agent } from "@berth/domain/agents/Agent"
import { HttpApiMiddleware } from "@effect/platform"
import { Context, Schema } from "effect"
import { AuthenticationErrors, sessionCookie } from "../sessions/SessionAuth.ts"
import { AgentNotFoundBody } from "./AgentErrorBodies.ts"

/** The agent in the path, owned by the caller. */
export class OwnedAgent extends Context.Tag("@berth/OwnedAgent")<
  OwnedAgent,
  { readonly user: User; readonly agent: Agent }
>() {}

/** 401 without a credential, then 404 for another owner's agent; before the request is decoded. */
export class AgentOwner extends HttpApiMiddleware.Tag<AgentOwner>()("AgentOwner", {
  provides: OwnedAgent,
  failure: Schema.Union(AuthenticationErrors, AgentNotFoundBody),
  security: { session: sessionCookie }
}) {}
