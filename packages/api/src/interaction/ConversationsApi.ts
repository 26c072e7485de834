import { ChatSessionId, MessageId, MessageState } from "@berth/domain/interaction/Conversation"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { payload } from "../http/Payload.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"
import { SessionSummary } from "./InteractionApi.ts"
import { ChatSessionNotFoundBody, MessageNotFoundBody, TitleInvalidBody } from "./InteractionErrorBodies.ts"

/** Ends the answer with its text so far. Idempotent. */
const stop = HttpApiEndpoint.post("stop", "/api/agent/messages/:messageId/stop")
  .setPath(Schema.Struct({ messageId: MessageId }))
  .addSuccess(
    Schema.Struct({
      messageId: MessageId,
      status: MessageState.annotations({ description: "pending: the answer ends shortly; its events report the end" })
    })
  )
  .addError(MessageNotFoundBody)
  .annotate(OpenApi.Summary, "Stop an answer")

const sessionPath = Schema.Struct({ sessionId: ChatSessionId })

const rename = HttpApiEndpoint.patch("rename", "/api/agent/sessions/:sessionId")
  .setPath(sessionPath)
  .setPayload(
    payload({
      title: Schema.optionalWith(Schema.String, { nullable: true }).annotations({
        description: "At most 200 characters; absent, null or empty removes the name"
      })
    })
  )
  .addSuccess(Schema.Struct({ session: SessionSummary }))
  .addError(ChatSessionNotFoundBody)
  .addError(TitleInvalidBody)
  .annotate(OpenApi.Summary, "Rename a conversation")

/** Deletes a conversation with its messages and summary, and ends its answers in progress. */
const remove = HttpApiEndpoint.del("remove", "/api/agent/sessions/:sessionId")
  .setPath(sessionPath)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(ChatSessionNotFoundBody)
  .annotate(OpenApi.Summary, "Delete a conversation")

export class ConversationsApi extends HttpApiGroup.make("conversations")
  .add(stop)
  .add(rename)
  .add(remove)
  .middlewareEndpoints(PrincipalAuth)
  .annotateEndpointsContext(acceptApiKeys("chat"))
  .addError(InternalFailureBody) {}
