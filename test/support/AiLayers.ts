import { AiLayer } from "@berth/domain/ai/AiLayer"
import { AiSettings, defaultAiSettings } from "@berth/domain/ai/calls/AiSettings"
import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { OwnerKeys, type ModelKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { ModelCatalog } from "@berth/domain/ai/models/ModelProviders"
import type { UserId } from "@berth/domain/shared/UserId"
import * as IdGeneratorTest from "@berth/infra/crypto/IdGeneratorTest"
import * as OpenRouterModelCatalog from "@berth/infra/ai/catalog/OpenRouterModelCatalog"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"

export const accessTo = ({ apiKey, baseUrl }: { readonly apiKey: string; readonly baseUrl: string }) => ({
  baseUrl,
  apiKey: Redacted.make(apiKey)
})

export const openRouterEntry = (id: string, changes: object = {}) => ({
  id,
  name: `Vendor: ${id}`,
  description: "From the list",
  context_length: 200_000,
  pricing: { prompt: "0.000005", completion: "0.000025" },
  architecture: { input_modalities: ["text", "image"], output_modalities: ["text"] },
  supported_parameters: ["tools"],
  ...changes
})

export const fakeOpenRouter = makeFakeOpenAi({
  models: [openRouterEntry("anthropic/claude-opus-4.6"), openRouterEntry("openai/gpt-4o-mini")],
  modelsArePublic: true,
  hasKeyPath: true
})

export const makeCatalog = (
  options: OpenRouterModelCatalog.OpenRouterModelCatalogOptions,
  providers: ConfiguredModelProviders.ModelProvidersOptions = {}
) =>
  Layer.build(
    OpenRouterModelCatalog.layer(options).pipe(Layer.provide(ConfiguredModelProviders.layer(providers)))
  ).pipe(Effect.map((context) => Context.get(context, ModelCatalog)))

interface AiLayerOptions {
  /** Default: the shipped list. */
  readonly openRouterUrl?: string
  readonly keysOf?: (userId: UserId) => ModelKeys
  readonly settings?: Partial<AiSettings["Type"]>
}

/** The AI layer over real providers and the catalog, as in the backend, with the recorded usage. */
export const buildAiLayer = (
  providers: ConfiguredModelProviders.ModelProvidersOptions,
  { keysOf = () => ({}), openRouterUrl, settings }: AiLayerOptions = {}
) =>
  Effect.gen(function* () {
    const recorded: Array<ModelCallRecord> = []
    const live = ConfiguredModelProviders.layer(providers)
    const context = yield* Layer.build(
      AiLayer.Default.pipe(
        Layer.provide([
          live,
          Layer.provide(OpenRouterModelCatalog.layer({ openRouterUrl: openRouterUrl ?? null }), live),
          Layer.succeed(AiSettings, {
            ...defaultAiSettings,
            retry: { ...defaultAiSettings.retry, base: Duration.millis(5) },
            ...settings
          }),
          Layer.succeed(OwnerKeys, { find: (userId) => Effect.succeed(keysOf(userId)) }),
          Layer.mock(ModelUsage, { record: (call) => Effect.sync(() => void recorded.push(call)) }),
          IdGeneratorTest.layer
        ])
      )
    )
    return { ai: Context.get(context, AiLayer), recorded }
  })
