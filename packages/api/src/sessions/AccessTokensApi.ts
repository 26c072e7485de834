import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { SessionAuth } from "./SessionAuth.ts"

/** Issues an access token, valid for 15 minutes and at most as long as the session. */
const issue = HttpApiEndpoint.post("issue", "/api/auth/token")
  .addSuccess(
    Schema.Struct({
      token: Schema.Redacted(Schema.String).annotations({ description: "For `Authorization: Bearer`" }),
      expiresAt: Timestamp
    }).annotations({ identifier: "AccessToken" })
  )
  .middleware(SessionAuth)
  .annotate(OpenApi.Summary, "Exchange the session for a JWT")

const JsonWebKey = Schema.Struct({
  kty: Schema.Literal("OKP"),
  crv: Schema.Literal("Ed25519"),
  x: Schema.String,
  kid: Schema.String,
  alg: Schema.Literal("EdDSA"),
  use: Schema.Literal("sig")
}).annotations({ identifier: "JsonWebKey" })

/** Lists the public keys that verify access tokens. */
const keys = HttpApiEndpoint.get("keys", "/.well-known/jwks.json")
  .addSuccess(Schema.Struct({ keys: Schema.Array(JsonWebKey) }))
  .annotate(OpenApi.Summary, "List the public keys that verify JWTs")

export class AccessTokensApi extends HttpApiGroup.make("accessTokens")
  .add(issue)
  .add(keys)
  .addError(InternalFailureBody) {}
