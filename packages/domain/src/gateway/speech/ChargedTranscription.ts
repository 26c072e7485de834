import { Effect } from "effect"
import { OwnerKeys } from "../../ai/keys/OwnerKeys.ts"
import { UnitLedger } from "../../billing/units/UnitLedger.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import { noUnits } from "../../shared/Money.ts"
import type { User } from "../../shared/User.ts"
import { quoteTranscription } from "../calls/CallQuotes.ts"
import { computePrice } from "../calls/PluginPrices.ts"
import { GatewaySettings } from "../GatewaySettings.ts"
import { type Recording, Speech } from "./Speech.ts"
import { speechVendors } from "./SpeechModel.ts"

/** Transcriptions outside of the gateway, at the gateway's price of stt. */
export class ChargedTranscription extends Effect.Service<ChargedTranscription>()("@berth/ChargedTranscription", {
  effect: Effect.gen(function* () {
    const settings = yield* GatewaySettings
    const ownerKeys = yield* OwnerKeys
    const speech = yield* Speech
    const ledger = yield* UnitLedger

    /** Returns the text: free with the account's own key, else charged to the account, once per `cause`. */
    const transcribe = Effect.fn("ChargedTranscription.transcribe")(function* (
      user: User,
      sound: Pick<Recording, "audio" | "contentType" | "filename">,
      cause: string,
      agentId: AgentId
    ) {
      const model = settings.speech.stt
      const costUsd = yield* quoteTranscription(model, sound.audio)
      const recording = { ...sound, userId: user.id }
      const keys = yield* ownerKeys.find(user.id)
      if (speechVendors.some((name) => name === model.provider && keys[name] !== undefined))
        return (yield* speech.transcribe({ ...recording, ownKeysOnly: true })).text
      const units = computePrice(settings, "stt", { tokens: null, costUsd })
      return yield* Effect.acquireUseRelease(
        ledger.reserve(user, units, cause, agentId),
        (reserved) =>
          Effect.tap(speech.transcribe(recording), ({ answeredBy, ownKey }) =>
            ownKey
              ? Effect.void
              : Effect.transposeMapOption(reserved, (id) => ledger.settle(id, units, units, answeredBy.model))
          ),
        // No effect on a settled reservation.
        (reserved) => Effect.transposeMapOption(reserved, (id) => ledger.close(id, noUnits))
      ).pipe(Effect.map(({ text }) => text))
    })

    return { transcribe }
  })
}) {}
