import { FetchHttpClient } from "@effect/platform"
import { Effect, Layer } from "effect"
import * as BackendAgentManager from "../backend/BackendAgentManager.ts"
import * as BackendChannelProvisioning from "../backend/BackendChannelProvisioning.ts"
import type { BackendClientOptions } from "../backend/BackendClient.ts"
import * as BackendChannelTurns from "../backend/BackendChannelTurns.ts"
import * as BackendModelAnswers from "../backend/BackendModelAnswers.ts"
import * as BackendSpeech from "../backend/BackendSpeech.ts"
import type { Settings } from "../configuration/Settings.ts"
import { resolveInternalApiKey } from "./SecretsWiring.ts"

export const remoteAgentManager = (options: BackendClientOptions) =>
  Layer.provide(BackendAgentManager.layer(options), FetchHttpClient.layer)

export const remoteProvisioning = (options: BackendClientOptions) =>
  Layer.provide(BackendChannelProvisioning.layer(options), FetchHttpClient.layer)

export const remoteModelAnswers = (options: BackendClientOptions) =>
  Layer.provide(BackendModelAnswers.layer(options), FetchHttpClient.layer)

export const remoteChannelTurns = (options: BackendClientOptions) =>
  Layer.provide(BackendChannelTurns.layer(options), FetchHttpClient.layer)

/** Agent manager, model answers, channel turns and speech of the backend at `BACKEND_URL`. */
export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.map(resolveInternalApiKey(settings), (internalApiKey) => {
      const backend = { backendUrl: settings.addresses.backendUrl.origin, internalApiKey }
      return Layer.mergeAll(
        remoteAgentManager(backend),
        remoteModelAnswers(backend),
        remoteProvisioning(backend),
        remoteChannelTurns(backend),
        Layer.provide(BackendSpeech.layer(backend), FetchHttpClient.layer)
      )
    })
  )
