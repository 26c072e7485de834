import { A2aCallFailed } from "@berth/domain/a2a/A2aErrors"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { RuntimeA2aCall, runtimeA2aPath, RuntimeTextAnswer } from "./RuntimeContract.ts"
import { AgentNotInInstanceBody, RuntimeAuth } from "./RuntimeModelApi.ts"

const A2aCallFailedBody = reasonErrorBody(A2aCallFailed, {
  status: 400,
  error: "Message not sent",
  example: "The agent did not answer."
})

const call = HttpApiEndpoint.post("call", runtimeA2aPath)
  .setPayload(RuntimeA2aCall)
  .addSuccess(RuntimeTextAnswer)
  .addError(AgentNotInInstanceBody)
  .addError(A2aCallFailedBody)
  .addError(RateLimitExceededBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "Send a message of an agent to another agent")

/** The skill `a2a-send` of agents, for runtimes: the backend continues the turn's chain. */
export class RuntimeA2aApi extends HttpApiGroup.make("runtimeA2a").add(call) {}
