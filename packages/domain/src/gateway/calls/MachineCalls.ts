import { DateTime, Deferred, Effect, Exit, Layer, Mailbox, Option } from "effect"
import type { ChatOpening } from "../../ai/calls/ChatRequest.ts"
import { readerFromStream, readerFromValues } from "../../ai/streams/ChunkReader.ts"
import type { ModelDelta } from "../../ai/streams/ModelEvent.ts"
import { leaseWaitLimit } from "../../limits/Lease.ts"
import type { User } from "../../shared/User.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import { CallUnpaid, PaymentInProgress } from "../GatewayErrors.ts"
import type { PluginInput } from "../PluginInput.ts"
import { Plugins } from "../Plugins.ts"
import { MachinePayments, type RedemptionResult } from "../payments/MachinePayments.ts"
import type { PaidAnswer } from "../payments/PaidAnswer.ts"
import { convertTokenUnitsToUsd, type PaidRequest } from "../payments/PaidRequest.ts"
import type { PaymentReceipt } from "../payments/PaymentReceipt.ts"
import { collectResult, mapEnd, type PluginError, type PluginResult } from "../plugins/PluginRun.ts"
import { convertPriceToUnits } from "./PluginPrices.ts"
import type { CallResult, OpenedGatewayCall } from "./OpenedGatewayCall.ts"

interface MachineCall {
  readonly caller: Option.Option<User>
  readonly input: PluginInput
  readonly credentials: ReadonlyArray<string>
  readonly request: PaidRequest
  readonly priceUsd: number
}

type PaidCall = Extract<RedemptionResult, { readonly _tag: "Paid" }>
type PaidCallError = PluginError | PaymentInProgress

/** Calls paid by one machine payment each. */
export class MachineCalls extends Effect.Service<MachineCalls>()("@berth/MachineCalls", {
  scoped: Effect.gen(function* () {
    const payments = yield* MachinePayments
    const plugins = yield* Plugins
    const { priceMargin } = yield* GatewaySettings
    const scope = yield* Effect.scope

    /** Runs the plugin under the claim; completes it with the answer, else releases it. */
    const runClaimed = (
      { amount, claim }: PaidCall,
      { caller, input }: MachineCall,
      opened: (opening: Option.Option<ChatOpening>) => Effect.Effect<unknown>,
      emit: (events: ReadonlyArray<ModelDelta | CallResult>) => Effect.Effect<unknown>
    ) =>
      Effect.gen(function* () {
        if (!(yield* payments.beginRun(claim))) return yield* new PaymentInProgress()
        const { events, opening } = yield* plugins.open(input, caller, {
          fallbackCostLimitUsd: convertTokenUnitsToUsd(amount) / priceMargin,
          unitLimit: convertPriceToUnits(convertTokenUnitsToUsd(amount))
        })
        yield* opened(opening)
        const complete = Effect.fnUntraced(function* ({ type, ...result }: PluginResult) {
          const answered = { ...result, answeredAt: yield* DateTime.now }
          if (!(yield* payments.complete(claim, { ...answered, opening }))) return yield* new PaymentInProgress()
          return { type, ...answered } satisfies CallResult
        })
        const answer = mapEnd(complete)(events)
        yield* collectResult(Effect.tap(answer, (read) => (read === null ? Effect.void : emit(read))))
      }).pipe(
        Effect.scoped,
        (run) => payments.whileClaimed(claim, run),
        Effect.onError(() => payments.release(claim))
      )

    /**
     * The service owns the run: it continues after the caller disconnects, and its answer is stored for repetitions.
     */
    const start = Effect.fnUntraced(function* (paid: PaidCall, call: MachineCall) {
      const events = yield* Mailbox.make<ModelDelta | CallResult, PaidCallError>()
      const opening = yield* Deferred.make<Option.Option<ChatOpening>, PaidCallError>()
      yield* runClaimed(
        paid,
        call,
        (known) => Deferred.succeed(opening, known),
        (chunk) => events.offerAll(chunk)
      ).pipe(
        Effect.onExit((exit) =>
          Effect.zipRight(
            Exit.isFailure(exit) ? Deferred.failCause(opening, exit.cause) : Effect.void,
            events.done(exit)
          )
        ),
        Effect.interruptible,
        Effect.forkIn(scope)
      )
      return { opening, events }
    })

    const replay = (answer: PaidAnswer, receipt: PaymentReceipt): OpenedGatewayCall => {
      const { opening, ...result } = answer
      return {
        opening,
        answeredBy: result.answeredBy,
        events: readerFromValues<ModelDelta | CallResult>([
          { type: "delta", text: result.message },
          { type: "done", ...result }
        ]),
        receipt: Option.some(receipt),
        isReplayed: true
      }
    }

    /** Answers a paid call, or replays its answer. */
    const call = Effect.fn("MachineCalls.call")((call: MachineCall) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const redeemed = yield* restore(payments.redeemWithin(call.credentials, call.request, leaseWaitLimit))
          switch (redeemed._tag) {
            case "InProgress":
              return yield* new PaymentInProgress()
            case "Unpaid":
              return yield* new CallUnpaid({
                priceUsd: call.priceUsd,
                reason: redeemed.failure,
                challenge: Option.some(redeemed.challenge)
              })
            case "Answered":
              return replay(redeemed.answer, redeemed.receipt)
            case "Paid": {
              const { events, opening } = yield* start(redeemed, call)
              return {
                opening: yield* restore(Deferred.await(opening)),
                events: yield* readerFromStream(Mailbox.toStream(events)),
                receipt: Option.some(redeemed.receipt),
                isReplayed: false
              } satisfies OpenedGatewayCall
            }
          }
        })
      )
    )

    /** Returns the challenge of a call that units do not cover. */
    const challenge = (request: PaidRequest) => Effect.map(payments.challenge(request), Option.some)

    return { call, challenge, findMissingCredential: payments.findMissingCredential }
  })
}) {}

/** Machine calls without configured payments: every call is unpaid, without a challenge. */
export const withoutPayments = Layer.succeed(
  MachineCalls,
  MachineCalls.make({
    call: ({ priceUsd }) => new CallUnpaid({ priceUsd, reason: "machine payments off", challenge: Option.none() }),
    challenge: () => Effect.succeedNone,
    findMissingCredential: () => Option.none()
  })
)
