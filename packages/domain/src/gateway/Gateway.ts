import { Effect, Exit, ExecutionStrategy, Option, Scope } from "effect"
import { Agents } from "../agents/Agents.ts"
import { readerFromValues } from "../ai/streams/ChunkReader.ts"
import type { BudgetExceeded } from "../billing/budgets/Budget.ts"
import type { ChainUnreachable } from "../chain/Chain.ts"
import { CardCalls } from "./calls/CardCalls.ts"
import { MachineCalls } from "./calls/MachineCalls.ts"
import type { OpenedGatewayCall } from "./calls/OpenedGatewayCall.ts"
import type { CallPayer } from "./calls/PaymentMethod.ts"
import { CallQuotes } from "./calls/CallQuotes.ts"
import { convertUnitsToUsd } from "../shared/Money.ts"
import { limitInput } from "./calls/PluginPrices.ts"
import { scopedDirectly } from "../shared/HotPath.ts"
import { withExportedSpan } from "../shared/SpanExport.ts"
import type { User } from "../shared/User.ts"
import { CallUnpaid, makeTracelessCallUnpaid, type PaymentInProgress } from "./GatewayErrors.ts"
import { convertUsdToTokenUnits, type PaidRequest } from "./payments/PaidRequest.ts"
import type { PluginInput } from "./PluginInput.ts"
import { collectResult, type PluginError } from "./plugins/PluginRun.ts"

interface GatewayCall {
  readonly payer: CallPayer
  readonly input: PluginInput
  /** Values of the header `Authorization`. */
  readonly credentials: ReadonlyArray<string>
  /** Request to which a machine payment is bound. */
  readonly request: Pick<PaidRequest, "body" | "route">
  /** Whether deltas are returned as they arrive. */
  readonly isStreamed: boolean
}

/** Closes the resources of `effect` on failure, else with the caller's scope. */
const releaseOnFailure = <A, E, R>(effect: Effect.Effect<A, E, R | Scope.Scope>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      return yield* Effect.onExit(restore(Scope.extend(effect, scope)), (exit) =>
        Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void
      )
    })
  )

/** Closes the resources of `effect` after the complete answer. */
const collected = <E, R>(effect: Effect.Effect<OpenedGatewayCall, E, R | Scope.Scope>) =>
  scopedDirectly(
    Effect.flatMap(effect, (call) =>
      Effect.map(collectResult(call.events), (result): OpenedGatewayCall => ({
        ...call,
        events: readerFromValues([result])
      }))
    )
  )

/** Calls of plugins, paid by card or by a machine. */
export class Gateway extends Effect.Service<Gateway>()("@berth/Gateway", {
  effect: Effect.gen(function* () {
    const cards = yield* CardCalls
    const machines = yield* MachineCalls
    const quotes = yield* CallQuotes
    const agents = yield* Agents

    /** Determines the agent of a task that names none, so that the agent's budgets apply. */
    const nameAgent = (input: PluginInput, caller: Option.Option<User>): Effect.Effect<PluginInput> =>
      input.plugin === "agent" && input.agentId === undefined && Option.isSome(caller)
        ? Effect.map(agents.findDefaultRunning(caller.value.id), (found) => ({
            ...input,
            agentId: Option.getOrUndefined(found)?.id
          }))
        : Effect.succeed(input)

    /** Offers a machine payment unless the caller selected the card; the header would reject a client that pays. */
    const offerOtherPayment = (
      request: PaidRequest,
      priceUsd: number,
      { isCardNamed, reason }: { readonly isCardNamed: boolean; readonly reason: CallUnpaid["reason"] }
    ) =>
      Effect.flatMap(
        isCardNamed ? Effect.succeedNone : machines.challenge(request),
        (challenge) => new CallUnpaid({ priceUsd, reason, challenge })
      )

    /** Pays for the call and runs its plugin up to the first event, or to the end if it is not streamed. */
    const call = Effect.fnUntraced(function* ({
      credentials,
      input: requested,
      isStreamed,
      payer,
      request
    }: GatewayCall) {
      const caller = payer.method === "card" ? Option.some(payer.user) : payer.caller
      const input = yield* nameAgent(limitInput(requested), caller)
      const quote = yield* quotes.quote(input, caller)
      const priceUsd = convertUnitsToUsd(quote.units)
      const paidRequest: PaidRequest = {
        route: request.route,
        body: request.body,
        plugin: input.plugin,
        amount: convertUsdToTokenUnits(priceUsd),
        description: `One call of ${input.plugin}`
      }
      const missing = payer.method === "mpp" ? machines.findMissingCredential(credentials) : Option.none()
      if (Option.isSome(missing))
        return yield* Effect.flatMap(machines.challenge(paidRequest), (challenge) =>
          makeTracelessCallUnpaid({ priceUsd, reason: missing.value, challenge })
        )
      const opened: Effect.Effect<
        OpenedGatewayCall,
        BudgetExceeded | CallUnpaid | ChainUnreachable | PaymentInProgress | PluginError,
        Scope.Scope
      > =
        payer.method === "card"
          ? cards.open({ user: payer.user, input, isStreamed, quote }).pipe(
              Effect.catchTag("UnitsExhausted", ({ awaitsConfirmation }) =>
                offerOtherPayment(paidRequest, priceUsd, {
                  isCardNamed: payer.isNamed,
                  reason: awaitsConfirmation ? "email unconfirmed" : "units exhausted"
                })
              )
            )
          : machines.call({ caller, input, credentials, request: paidRequest, priceUsd })
      return yield* isStreamed ? releaseOnFailure(opened) : collected(opened)
    }, withExportedSpan("Gateway.call"))

    return { call }
  })
}) {}
