import { WalletCallFailed } from "@berth/domain/wallets/payments/WalletPaymentErrors"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { RuntimeTextAnswer, RuntimeWalletCall, runtimeWalletPath } from "./RuntimeContract.ts"
import { AgentNotInInstanceBody, RuntimeAuth, TurnNotInProgressBody } from "./RuntimeModelApi.ts"

const WalletCallFailedBody = reasonErrorBody(WalletCallFailed, {
  status: 400,
  error: "Wallet call failed",
  example: "The payment waits for the owner."
})

const call = HttpApiEndpoint.post("call", runtimeWalletPath)
  .setPayload(RuntimeWalletCall)
  .addSuccess(RuntimeTextAnswer)
  .addError(AgentNotInInstanceBody)
  .addError(TurnNotInProgressBody)
  .addError(WalletCallFailedBody)
  .addError(RateLimitExceededBody)
  .middleware(RuntimeAuth)
  .annotate(OpenApi.Summary, "Use an agent's wallet")

/** Wallet skill of agents, for runtimes: the backend decides, signs and sends. */
export class RuntimeWalletApi extends HttpApiGroup.make("runtimeWallet").add(call) {}
