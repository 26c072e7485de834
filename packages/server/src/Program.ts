import { AgentModels } from "@berth/domain/agents/AgentModels"
import { LegacyModels } from "@berth/domain/agents/LegacyModels"
import { PluginPrices } from "@berth/domain/gateway/PluginPrices"
import * as LocalSpeech from "@berth/domain/gateway/speech/LocalSpeech"
import { BackendAddress } from "@berth/domain/instances/BackendAddress"
import * as ModelCatalogue from "@berth/infra/ai/catalogue/ModelCatalogueLive"
import * as KeyCheck from "@berth/infra/ai/KeyCheckLive"
import * as ModelProviders from "@berth/infra/ai/ModelProvidersLive"
import * as SpeechProviders from "@berth/infra/ai/SpeechProvidersLive"
import * as AgentManagerClient from "@berth/infra/backend/AgentManagerClient"
import * as ModelAnswersClient from "@berth/infra/backend/ModelAnswersClient"
import * as SpeechClient from "@berth/infra/backend/SpeechClient"
import * as ProcessDriver from "@berth/infra/cells/process/ProcessDriver"
import * as AccountRules from "@berth/infra/composition/AccountRules"
import * as Bots from "@berth/infra/composition/Bots"
import * as CardEvents from "@berth/infra/composition/CardEvents"
import * as Cards from "@berth/infra/composition/Cards"
import * as Chain from "@berth/infra/composition/Chain"
import * as Identity from "@berth/infra/composition/Identity"
import { databaseUrlOf, internalApiKeyOf, jwtKeyOf } from "@berth/infra/composition/Keys"
import * as Payments from "@berth/infra/composition/Payments"
import * as Queues from "@berth/infra/composition/Queues"
import * as Storage from "@berth/infra/composition/Storage"
import type { ProviderSettings, Settings } from "@berth/infra/configuration/Settings"
import * as AccessTokens from "@berth/infra/crypto/AccessTokens"
import * as CommonPasswords from "@berth/infra/crypto/CommonPasswords"
import * as PasswordHasher from "@berth/infra/crypto/PasswordHasher"
import * as PostgresRateLimiter from "@berth/infra/limits/PostgresRateLimiter"
import * as RedisRateLimiter from "@berth/infra/limits/RedisRateLimiter"
import * as Health from "@berth/infra/postgres/Health"
import { CannotRun, serviceVersion } from "@berth/infra/process/RunProgram"
import * as AssetFiles from "@berth/infra/files/AssetFiles"
import { prepareDataDirectory } from "@berth/infra/files/DataDirectory"
import * as BerthRuntime from "@berth/infra/runtime/BerthRuntime"
import * as SkillFolders from "@berth/infra/skills/SkillFolders"
import { renderPrometheus } from "@berth/infra/telemetry/Prometheus"
import { FetchHttpClient } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { Duration, Effect, Layer, Option, Record, type Redacted } from "effect"
import { availableParallelism } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { AiLayerIsPrivate } from "./ai/AiAccessHttp.ts"
import * as BackendListener from "./BackendListener.ts"
import { proxyList } from "./http/ClientAddress.ts"
import { Readiness } from "./http/HealthHttp.ts"
import { InternalKey } from "./http/InternalAuthHttp.ts"
import { MetricsText } from "./http/MetricsHttp.ts"
import { WebSettings } from "./http/WebSettings.ts"
import * as PageAssets from "./pages/PageAssets.ts"
import { PageSettings } from "./pages/PageSettings.ts"
import * as UseCases from "./UseCases.ts"
import * as WebListener from "./WebListener.ts"

const poolSize = 20
const postgresSchema = "limits"

const limits = (settings: Settings, databaseUrl: Redacted.Redacted) =>
  Option.match(settings.redisUrl, {
    onNone: () => PostgresRateLimiter.layer({ url: databaseUrl, limits: settings.limits, schema: postgresSchema }),
    onSome: (url) => RedisRateLimiter.layer({ url, limits: settings.limits })
  })

const webSettings = (settings: Settings) =>
  Layer.succeed(WebSettings, {
    appUrl: settings.addresses.appUrl,
    agentsDomain: settings.agentsDomain,
    trustedProxies: proxyList(settings.trustedProxies),
    serviceVersion
  })

const accessTokens = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.map(jwtKeyOf(settings), (key) => {
      const { origin } = settings.addresses.appUrl
      return AccessTokens.layer({ key, issuer: origin, audience: `${origin}/api` })
    })
  )

/** What the operator sets about accounts and agents, and the hashing of passwords. */
const webPorts = (settings: Settings) =>
  Layer.mergeAll(
    accessTokens(settings),
    CardEvents.signaturesFromSettings(settings),
    Cards.fromSettings(settings),
    KeyCheck.layer(Record.map(settings.providers, ({ baseUrl }) => baseUrl)),
    Chain.fromSettings(settings),
    Identity.fromSettings(settings),
    Payments.fromSettings(settings),
    Layer.succeed(PluginPrices, settings.prices),
    Layer.succeed(AgentModels, settings.agentModels),
    AccountRules.fromSettings(settings),
    Bots.fromSettings(settings),
    CommonPasswords.layer,
    // Half the threads hash at most, so that a sign-up storm leaves the rest to everybody else.
    PasswordHasher.layer({ maxConcurrent: Math.max(1, Math.floor(availableParallelism() / 2)) })
  )

const access = ({ apiKey, baseUrl }: ProviderSettings) =>
  Option.match(apiKey, { onNone: () => undefined, onSome: (key) => ({ apiKey: key, baseUrl }) })

const sandboxIsOn = (settings: Settings) =>
  Option.getOrElse(settings.sandboxModel, () => settings.environment === "development")

const models = (settings: Settings) => {
  const { anthropic, google, groq, openai, openrouter } = settings.providers
  const sandbox = sandboxIsOn(settings)
  return ModelCatalogue.layer({ openRouterUrl: openrouter.baseUrl }).pipe(
    Layer.provideMerge(
      ModelProviders.layer({
        openrouter: access(openrouter),
        openai: access(openai),
        anthropic: access(anthropic),
        google: access(google),
        groq: access(groq),
        sandbox: sandbox ? {} : null,
        baseUrls: Record.map(settings.providers, ({ baseUrl }) => baseUrl)
      })
    ),
    Layer.merge(UseCases.ownerKeys)
  )
}

/** Speech by the providers of this process. */
const speech = (settings: Settings) => {
  const { groq, openai, openrouter } = settings.providers
  return LocalSpeech.layer(settings.speech).pipe(
    Layer.provide(
      SpeechProviders.layer({
        openai: access(openai),
        groq: access(groq),
        openrouter: access(openrouter),
        sandbox: sandboxIsOn(settings),
        baseUrls: Record.map(settings.providers, ({ baseUrl }) => baseUrl)
      })
    ),
    Layer.provide(UseCases.ownerKeys)
  )
}

const wildcards = new Set(["0.0.0.0", "::"])
const hostInUrl = (host: string) => (host.includes(":") ? `[${host}]` : host)

/** The cells of this host, and the agent manager in this process. */
const cells = (settings: Settings) => {
  const { backendHost, backendPort } = settings.addresses
  // Cells of this host reach the backend where it listens, whatever name others know it by.
  const backendUrl = `http://${hostInUrl(wildcards.has(backendHost) ? "127.0.0.1" : backendHost)}:${backendPort}`
  const dataDirectory = resolve(settings.dataDir)
  const driver = ProcessDriver.layer({
    directory: join(dataDirectory, "instances"),
    bundle: fileURLToPath(new URL("./runtime.mjs", import.meta.url)),
    onClose: settings.supervised ? "stop" : "leave",
    ...Option.match(settings.otlpEndpoint, {
      onNone: () => ({}),
      onSome: (otlpEndpoint) => ({ otlpEndpoint })
    })
  })
  return UseCases.agentManager.pipe(
    Layer.provide(
      prepareDataDirectory(dataDirectory).pipe(
        Effect.mapError(({ message }) => new CannotRun({ reason: message })),
        Effect.as(driver),
        Layer.unwrapEffect
      )
    ),
    Layer.provide(BerthRuntime.layer),
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Layer.succeed(BackendAddress, backendUrl)),
    Layer.provide(Layer.succeed(LegacyModels, settings.legacyModels))
  )
}

/** The skill folders that lie beside this program. */
const skills = SkillFolders.layer(fileURLToPath(new URL("./skills", import.meta.url))).pipe(
  Layer.mapError(({ message }) => new CannotRun({ reason: message }))
)

/** What the pages load, which lies beside this program. */
const pages = (settings: Settings) =>
  Layer.merge(
    Layer.succeed(PageSettings, { salesEmail: settings.salesEmail }),
    Layer.effect(
      PageAssets.PageAssets,
      AssetFiles.read(fileURLToPath(new URL("./pages", import.meta.url)), PageAssets.assetNames).pipe(
        Effect.map(PageAssets.make),
        Effect.mapError(({ message }) => new CannotRun({ reason: message }))
      )
    )
  )

const readiness = Layer.effect(
  Readiness,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    checks: {
      database: Health.ping.pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.tapError((error) => Effect.logWarning("The database does not answer", error)),
        Effect.isSuccess
      )
    }
  }))
)

/** One or both listeners over the same services, by role. */
export const program = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const databaseUrl = yield* databaseUrlOf(settings)
      const internalApiKey = yield* internalApiKeyOf(settings)
      const { backendHost, backendPort, backendUrl, host, port } = settings.addresses
      const ai = models(settings)
      const drain = Duration.seconds(settings.drainSeconds)
      const sendsSpans = Option.isSome(settings.otlpEndpoint)
      const privately = Layer.mergeAll(
        Layer.succeed(InternalKey, internalApiKey),
        Layer.succeed(AiLayerIsPrivate, settings.environment === "production"),
        Layer.succeed(MetricsText, Effect.sync(renderPrometheus))
      )
      const webListener = WebListener.layer({ host, port, drain, sendsSpans }).pipe(
        Layer.provide(UseCases.web),
        Layer.provide(UseCases.agentTasks),
        Layer.provide(webPorts(settings)),
        Layer.provide(pages(settings))
      )
      const backendListener = BackendListener.layer({ host: backendHost, port: backendPort, drain, sendsSpans }).pipe(
        Layer.provide(privately),
        Layer.provide(UseCases.backend),
        Layer.provide(Layer.succeed(LegacyModels, settings.legacyModels)),
        Layer.provide(ai),
        Layer.provide(Queues.fromSettings(settings, databaseUrl))
      )
      const backendAt = { backendUrl: backendUrl.origin, internalApiKey }
      const remote = Layer.mergeAll(
        AgentManagerClient.layer(backendAt),
        ModelAnswersClient.layer(backendAt),
        SpeechClient.layer(backendAt)
      ).pipe(Layer.provide(FetchHttpClient.layer))
      const localSpeech = speech(settings)
      const announced = (name: string, address: string) =>
        Layer.effectDiscard(Effect.logInfo(`The ${name} listens on ${address}`))
      const webUp = Layer.provideMerge(announced("web API", `http://${hostInUrl(host)}:${port}`), webListener)
      const backendUp = Layer.provideMerge(
        announced("backend API", `http://${hostInUrl(backendHost)}:${backendPort}`),
        backendListener
      )
      const listeners = {
        // The web listener closes first: what it has in flight still needs the backend.
        all: webUp.pipe(
          Layer.provide(UseCases.localAnswers),
          Layer.provide(backendUp),
          Layer.provide(localSpeech),
          Layer.provide(cells(settings)),
          Layer.provide(ai)
        ),
        web: Layer.provide(webUp, remote),
        backend: backendUp.pipe(Layer.provide(localSpeech), Layer.provide(cells(settings)), Layer.provide(ai))
      }
      return listeners[settings.role].pipe(
        Layer.provide(readiness),
        Layer.provide(skills),
        Layer.provide(UseCases.shared),
        Layer.provide(webSettings(settings)),
        Layer.provide(limits(settings, databaseUrl)),
        Layer.provide(Storage.fromSettings(settings, { maxConnections: poolSize, applicationName: "berth-server" })),
        Layer.mapError((error) => (error._tag === "ServeError" ? cannotListen(error.cause) : error))
      )
    })
  )

const cannotListen = (cause: unknown) =>
  new CannotRun({
    reason:
      cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
        ? `A port is taken (${cause.message}). Set PORT and BACKEND_PORT to free ones.`
        : `The server cannot listen: ${String(cause)}`
  })
