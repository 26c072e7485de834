import { Data, Duration, Effect, Schedule, type Scope } from "effect"
import type { PaidRequest } from "../payments/PaidRequest.ts"
import { convertUsdToTokenUnits } from "../payments/PaidRequest.ts"
import { MachinePayments, RedemptionResult } from "../payments/MachinePayments.ts"
import type { RedemptionClaim } from "../payments/PaymentRedemptions.ts"
import type { PluginInput } from "../PluginInput.ts"
import { PluginPrices, countInputShares } from "./PluginPrices.ts"

/** A second request with a credential waits this long for what becomes of the first one: longer than a dead process holds a claim. */
const patience = Duration.seconds(20)
const looking = Duration.millis(250)

/** A call that was paid for, and is this caller's to answer. */
export interface ClaimedPayment {
  /**
   * The answer is there and may go out when this is true; else another request has the payment and answers. From then on the
   * payment is used up.
   */
  readonly complete: Effect.Effect<boolean>
}

/** Within this file: another request with the same credential is being answered. */
class PaymentAnswerPending extends Data.TaggedError("PaymentAnswerPending")<object> {}

const isDecided = (
  redeemed: RedemptionResult
): redeemed is Exclude<RedemptionResult, { readonly _tag: "InProgress" }> => redeemed._tag !== "InProgress"

/** Calls that machines pay for, each by itself. */
export class MachineCalls extends Effect.Service<MachineCalls>()("@berth/MachineCalls", {
  effect: Effect.gen(function* () {
    const payments = yield* MachinePayments
    const prices = yield* PluginPrices

    /** A call with its price, which follows from the request alone. */
    const paidRequest = (input: PluginInput, { body, route }: Pick<PaidRequest, "body" | "route">): PaidRequest => ({
      route,
      body,
      plugin: input.plugin,
      amount: convertUsdToTokenUnits(prices[input.plugin] * countInputShares(input)),
      description: `One call of ${input.plugin}`
    })

    /** As soon as it is known what a credential is worth, or that it still is not when patience ends. */
    const redeem = Effect.fn("MachineCalls.redeem")((authorization: ReadonlyArray<string>, request: PaidRequest) =>
      payments.redeem(authorization, request).pipe(
        Effect.filterOrFail(isDecided, () => new PaymentAnswerPending()),
        Effect.retry({
          while: ({ _tag }) => _tag === "PaymentAnswerPending",
          schedule: Schedule.intersect(Schedule.spaced(looking), Schedule.upTo(Schedule.forever, patience))
        }),
        Effect.catchTag("PaymentAnswerPending", () => Effect.succeed(RedemptionResult.InProgress()))
      )
    )

    /**
     * Keeps a payment for the caller until the scope closes. Unless the call was answered by then it has failed, and the same
     * credential can be sent again.
     */
    const claimPayment = Effect.fn("MachineCalls.claimPayment")(function* (
      claim: RedemptionClaim
    ): Effect.fn.Return<ClaimedPayment, never, Scope.Scope> {
      let isAnswered = false
      yield* Effect.addFinalizer(() => (isAnswered ? Effect.void : payments.release(claim)))
      // A request runs uninterruptibly around its handler, and what only keeps it company must end with it.
      yield* Effect.forkScoped(Effect.interruptible(payments.whileClaimed(claim, Effect.never)))
      return {
        complete: Effect.tap(payments.complete(claim), (isOurs) => {
          isAnswered = isOurs
        })
      }
    })

    return { challenge: payments.challenge, paidRequest, redeem, claimPayment }
  })
}) {}
