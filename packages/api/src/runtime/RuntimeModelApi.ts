import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "@effect/platform"
import { Context, Data } from "effect"
import { errorBody, plainErrorBody } from "../http/ErrorBody.ts"
import { EventStream } from "../http/EventStream.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { TurnBudgetExhausted, TurnNotInProgress } from "@berth/domain/interaction/turns/TurnErrors"
import { runtimeModelPath, RuntimeModelRequest, turnBudgetExhaustedStatus } from "./RuntimeContract.ts"
import type { UserId } from "@berth/domain/shared/UserId"

export class RuntimeTokenInvalid extends Data.TaggedError("RuntimeTokenInvalid")<object> {}
/** The runtime's owner has no such agent. */
export class AgentNotInInstance extends Data.TaggedError("AgentNotInInstance")<object> {}

const RuntimeTokenInvalidBody = plainErrorBody(RuntimeTokenInvalid, {
  status: 401,
  error: "Unauthorized",
  message: "The runtime token is not valid: the instance has ended, or its account is suspended."
})
export const AgentNotInInstanceBody = plainErrorBody(AgentNotInInstance, {
  status: 404,
  error: "Agent not found",
  message: "This instance has no such agent."
})

export const TurnNotInProgressBody = plainErrorBody(TurnNotInProgress, {
  status: 404,
  error: "Turn not found",
  message:
    "This instance has no such turn in progress. Models are called for turns only, and notes are taken in turns of the owner only."
})
const exhausted = {
  budget: "The turn has used its budget. Send a new message to continue.",
  balance:
    "Units and credits, or a budget, are used up. Daily units are restored at midnight UTC; credits are sold as packs."
} as const
export const TurnBudgetExhaustedBody = errorBody(TurnBudgetExhausted, {
  status: turnBudgetExhaustedStatus,
  error: "payment_required",
  message: ({ limit }) => exhausted[limit],
  example: new TurnBudgetExhausted({ limit: "budget" }),
  read: (message) => new TurnBudgetExhausted({ limit: message === exhausted.budget ? "budget" : "balance" })
})

export class RuntimeOwner extends Context.Tag("@berth/RuntimeOwner")<RuntimeOwner, UserId>() {}

/** Requires a runtime token. Usage is charged to the owner of the instance. */
export class RuntimeAuth extends HttpApiMiddleware.Tag<RuntimeAuth>()("RuntimeAuth", {
  provides: RuntimeOwner,
  failure: RuntimeTokenInvalidBody,
  security: { runtimeToken: HttpApiSecurity.bearer }
}) {}

/** AI layer for runtimes; responds with server-sent `RuntimeModelEvent`s. */
const complete = HttpApiEndpoint.post("complete", runtimeModelPath)
  .setPayload(RuntimeModelRequest)
  .addSuccess(EventStream)
  .addError(RateLimitExceededBody)
  .addError(TurnNotInProgressBody)
  .addError(TurnBudgetExhaustedBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "Call a model for a turn")

export class RuntimeModelApi extends HttpApiGroup.make("runtimeModel").add(complete) {}
