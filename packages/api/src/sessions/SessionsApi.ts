import { SessionId } from "@berth/domain/sessions/Session"
import { SignInSessionNotFound } from "@berth/domain/sessions/SessionErrors"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { SessionAuth } from "./SessionAuth.ts"

const SignInSessionNotFoundBody = plainErrorBody(SignInSessionNotFound, {
  status: 404,
  error: "Session not found",
  message: "No session has this id. GET /api/auth/sessions lists yours."
})

const SignInSession = Schema.Struct({
  id: SessionId.annotations({ description: "Identifies the session; grants no access" }),
  createdAt: Timestamp,
  lastSeenAt: Timestamp.annotations({ description: "Precise to five minutes" }),
  userAgent: Schema.NullOr(Schema.String).annotations({
    description: "User agent at the sign-in, at most 256 characters"
  }),
  address: Schema.NullOr(Schema.String).annotations({
    description: "Network of the client at the sign-in: IPv4 by /24, IPv6 by /64"
  }),
  current: Schema.Boolean.annotations({ description: "Whether it is the session of this request" })
}).annotations({ identifier: "SignInSession" })

const list = HttpApiEndpoint.get("list", "/api/auth/sessions")
  .addSuccess(Schema.Struct({ sessions: Schema.Array(SignInSession) }))
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "List the account's sessions")

/** Ends a session of the caller; the current session is signed out. */
const revoke = HttpApiEndpoint.del("revoke", "/api/auth/sessions/:id")
  .setPath(Schema.Struct({ id: SessionId }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(SignInSessionNotFoundBody)
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Revoke a session")

export class SessionsApi extends HttpApiGroup.make("sessions").add(list).add(revoke).addError(InternalFailureBody) {}
