import { isWalletAddress, WalletAddress } from "@berth/domain/chain/WalletAddress"
import { GatingCheckFailed, GatingNotConfigured } from "@berth/domain/gating/TokenGate"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { errorBody, plainErrorBody } from "../http/ErrorBody.ts"
import { payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { TokenGatingLimit } from "../limits/RateLimits.ts"

const GatingNotConfiguredBody = plainErrorBody(GatingNotConfigured, {
  status: 500,
  error: "Token gating is not configured",
  message: "Set `GATING_TOKEN_ADDRESS` to enable token gating."
})
export const GatingCheckFailedBody = errorBody(GatingCheckFailed, {
  status: 500,
  error: "Verification failed",
  message: "The balance could not be read from the chain. Try again in a moment.",
  read: () => new GatingCheckFailed({ reason: "withheld" })
})

const address = WalletAddress.pipe(
  Schema.filter(isWalletAddress, { message: () => "must be an Ethereum address: 0x and 40 hex digits" })
).annotations({ jsonSchema: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" } })

const gatingFields = {
  address: WalletAddress,
  hasAccess: Schema.Boolean,
  tokenGated: Schema.Boolean,
  minBalance: Schema.String.annotations({ description: "In the token's smallest units" }),
  token: Schema.String.annotations({ description: "The gating token's symbol" }),
  chain: Schema.Literal("base")
}

const GatingCheckResult = Schema.Struct({
  fid: Schema.String,
  ...gatingFields,
  message: Schema.String,
  timestamp: Timestamp
}).annotations({ identifier: "GatingCheckResult" })

const GatingLookupResult = Schema.Struct({
  ...gatingFields,
  contractAddress: WalletAddress,
  rpcEndpoint: Schema.String.annotations({ description: "Origin of the chain's RPC endpoint, without keys" })
}).annotations({ identifier: "GatingLookupResult" })

const fid = Schema.String.pipe(
  Schema.filter((text) => text.trim() !== "" && text.length <= 100, { message: () => "must have 1 to 100 characters" })
).annotations({ jsonSchema: { type: "string", minLength: 1, maxLength: 100 } })

const check = HttpApiEndpoint.post("check", "/api/auth/token-gating/verify")
  .setPayload(payload({ fid, address }))
  .addSuccess(GatingCheckResult)
  .addError(GatingNotConfiguredBody)
  .addError(GatingCheckFailedBody)
  .annotate(OpenApi.Summary, "Check whether an address holds the gating token")

const lookUp = HttpApiEndpoint.get("lookUp", "/api/auth/token-gating/verify")
  .setUrlParams(payload({ address }))
  .addSuccess(GatingLookupResult)
  .addError(GatingNotConfiguredBody)
  .addError(GatingCheckFailedBody)
  .annotate(OpenApi.Summary, "Retrieve the gating token and the access of an address")

export class GatingApi extends HttpApiGroup.make("gating")
  .add(check)
  .add(lookUp)
  .addError(InternalFailureBody)
  .middleware(TokenGatingLimit) {}
