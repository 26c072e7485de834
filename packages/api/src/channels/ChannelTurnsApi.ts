import { ChannelTurn, ChannelTurnOutcome } from "@berth/domain/channels/ChannelTurns"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { InternalAuth } from "../http/InternalAuth.ts"
import { BackendUnavailableBody } from "../instances/LifecycleErrorBodies.ts"

/** Waits for the end of the turn. Idempotent by `messageId`; the turn continues without the caller. */
const answer = HttpApiEndpoint.post("answer", "/internal/channel-turns")
  .setPayload(ChannelTurn)
  .addSuccess(ChannelTurnOutcome)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Answer a message of a channel, a schedule or another agent")

/** Turns of messaging channels, for the worker. */
export class ChannelTurnsApi extends HttpApiGroup.make("channelTurns").add(answer).middlewareEndpoints(InternalAuth) {}
