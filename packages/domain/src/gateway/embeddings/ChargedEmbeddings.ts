import { Effect, Exit } from "effect"
import { OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import { estimateTokens } from "../../ai/prompt/TokenEstimate.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import { IdempotentExecution, RequestCharge } from "../../limits/IdempotentExecution.ts"
import type { User } from "../../shared/User.ts"
import { noUnits } from "../../shared/Money.ts"
import { convertPriceToUnits } from "../calls/PluginPrices.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import { type EmbeddingRequest, ModelAnswers } from "../plugins/ModelAnswers.ts"
import { quoteEmbedding } from "./EmbeddingModels.ts"

/**
 * Embeddings, charged by the tokens that the provider reports and reserved by an estimate; free with the caller's own
 * key.
 */
export class ChargedEmbeddings extends Effect.Service<ChargedEmbeddings>()("@berth/ChargedEmbeddings", {
  effect: Effect.gen(function* () {
    const answers = yield* ModelAnswers
    const executions = yield* IdempotentExecution
    const ledger = yield* UnitLedger
    const ownerKeys = yield* OwnerKeys
    const { priceMargin } = yield* GatewaySettings

    const embed = Effect.fn("ChargedEmbeddings.embed")(function* (
      user: User,
      request: Omit<EmbeddingRequest, "userId" | "ownKey">
    ) {
      const tokens = request.input.reduce((sum, text) => sum + estimateTokens(text), 0)
      const estimateUsd = yield* quoteEmbedding(request.model, tokens)
      const ownKey = (yield* ownerKeys.find(user.id)).openai !== undefined
      const call = answers.embed({ ...request, userId: user.id, ownKey })
      if (ownKey) return yield* call
      const units = convertPriceToUnits(estimateUsd * priceMargin)
      let isSent = false
      const send = Effect.suspend(() => {
        isSent = true
        return call
      })
      return yield* Effect.acquireUseRelease(
        ledger.reserve(user, units, `embeddings:${yield* executions.reference}`),
        (reserved) =>
          Effect.tap(Effect.zipLeft(send, Effect.flatten(RequestCharge)), ({ costUsd }) =>
            Effect.transposeMapOption(reserved, (id) =>
              ledger.settle(id, convertPriceToUnits(costUsd * priceMargin), units, request.model)
            )
          ),
        // No effect on a settled reservation. A client that disconnects after the call began pays the estimate, since
        // the provider may have received the texts.
        (reserved, exit) =>
          Effect.transposeMapOption(reserved, (id) =>
            ledger.close(id, isSent && Exit.isInterrupted(exit) ? units : noUnits, units, request.model)
          )
      )
    })

    return { embed }
  })
}) {}
