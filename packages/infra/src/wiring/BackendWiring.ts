import { Effect, Layer } from "effect"
import * as BackendAgentManager from "../backend/BackendAgentManager.ts"
import * as BackendChannelProvisioning from "../backend/BackendChannelProvisioning.ts"
import * as BackendChannelTurns from "../backend/BackendChannelTurns.ts"
import * as BackendModelAnswers from "../backend/BackendModelAnswers.ts"
import * as BackendSpeech from "../backend/BackendSpeech.ts"
import type { Settings } from "../configuration/Settings.ts"
import { resolveInternalApiKey } from "./SecretsWiring.ts"

/** Agent manager, model answers, channel turns and speech of the backend at `BACKEND_URL`. */
export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.map(resolveInternalApiKey(settings), (internalApiKey) => {
      const backend = { backendUrl: settings.addresses.backendUrl.origin, internalApiKey }
      return Layer.mergeAll(
        BackendAgentManager.layer(backend),
        BackendModelAnswers.layer(backend),
        BackendChannelProvisioning.layer(backend),
        BackendChannelTurns.layer(backend),
        BackendSpeech.layer(backend)
      )
    })
  )
