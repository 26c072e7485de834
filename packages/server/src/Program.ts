import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import * as GatewayServices from "@berth/domain/gateway/GatewayServices"
import * as LocalSpeech from "@berth/domain/gateway/speech/LocalSpeech"
import { InstanceSettings } from "@berth/domain/instances/InstanceSettings"
import * as OpenRouterModelCatalog from "@berth/infra/ai/catalog/OpenRouterModelCatalog"
import * as HttpModelKeyVerifier from "@berth/infra/ai/HttpModelKeyVerifier"
import * as ConfiguredModelProviders from "@berth/infra/ai/ConfiguredModelProviders"
import * as ConfiguredSpeechProviders from "@berth/infra/ai/ConfiguredSpeechProviders"
import * as BackendAgentManager from "@berth/infra/backend/BackendAgentManager"
import * as BackendModelAnswers from "@berth/infra/backend/BackendModelAnswers"
import * as BackendSpeech from "@berth/infra/backend/BackendSpeech"
import * as ProcessInstanceDriver from "@berth/infra/instance-drivers/process/ProcessInstanceDriver"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as BillingWiring from "@berth/infra/wiring/BillingWiring"
import * as ChainWiring from "@berth/infra/wiring/ChainWiring"
import * as SignInWiring from "@berth/infra/wiring/SignInWiring"
import { requireDatabaseUrl, resolveInternalApiKey, resolveJwtKey } from "@berth/infra/wiring/SecretsWiring"
import * as GatewayWiring from "@berth/infra/wiring/GatewayWiring"
import * as InteractionWiring from "@berth/infra/wiring/InteractionWiring"
import * as JobsWiring from "@berth/infra/wiring/JobsWiring"
import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import type { ProviderSettings, Settings } from "@berth/infra/configuration/Settings"
import * as JoseAccessTokens from "@berth/infra/crypto/JoseAccessTokens"
import * as ZxcvbnCommonPasswords from "@berth/infra/crypto/ZxcvbnCommonPasswords"
import * as Argon2PasswordHasher from "@berth/infra/crypto/Argon2PasswordHasher"
import * as PostgresRateLimiter from "@berth/infra/rate-limiter/PostgresRateLimiter"
import * as RedisRateLimiter from "@berth/infra/rate-limiter/RedisRateLimiter"
import * as DatabaseHealth from "@berth/infra/postgres/DatabaseHealth"
import { ProgramMisconfigured, serviceVersion } from "@berth/infra/process/ProgramRunner"
import * as AssetFiles from "@berth/infra/files/AssetFiles"
import { prepareDataDirectory } from "@berth/infra/files/DataDirectory"
import * as BerthAgentRuntime from "@berth/infra/runtime/BerthAgentRuntime"
import * as FolderSkillCatalog from "@berth/infra/skills/FolderSkillCatalog"
import { renderPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { FetchHttpClient } from "@effect/platform"
import { SqlClient } from "@effect/sql"
import { Duration, Effect, Layer, Option, Record, type Redacted } from "effect"
import { availableParallelism } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { AiAccessPolicy } from "./ai/AiAccessHttp.ts"
import * as BackendListener from "./BackendListener.ts"
import { parseProxies } from "./http/ClientAddress.ts"
import { ReadinessChecks } from "@berth/api/http/Health"
import { InternalKey } from "./http/InternalAuthHttp.ts"
import { MetricsExposition } from "./http/MetricsHttp.ts"
import { WebSettings } from "./http/WebSettings.ts"
import * as PageAssets from "./pages/PageAssets.ts"
import { PageSettings } from "./pages/Layout.ts"
import * as UseCases from "./UseCases.ts"
import * as WebListener from "./WebListener.ts"

const poolSize = 20
/** Bounds requests that hold a connection while the database stops. */
const statementTimeout = Duration.seconds(4)
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
    trustedProxies: parseProxies(settings.trustedProxies),
    serviceVersion,
    uploads: { ...settings.uploads, grace: Duration.seconds(10) }
  })

const accessTokens = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.map(resolveJwtKey(settings), (key) => {
      const { origin } = settings.addresses.appUrl
      return JoseAccessTokens.layer({ key, issuer: origin, audience: `${origin}/api` })
    })
  )

/** Settings of accounts and agents, and the password hasher. */
const webPorts = (settings: Settings) =>
  Layer.mergeAll(
    accessTokens(settings),
    BillingWiring.secretFromSettings(settings),
    BillingWiring.fromSettings(settings),
    HttpModelKeyVerifier.layer(Record.map(settings.providers, ({ baseUrl }) => baseUrl)),
    ChainWiring.fromSettings(settings),
    SignInWiring.fromSettings(settings),
    GatewayWiring.fromSettings(settings),
    AccountsWiring.fromSettings(settings),
    AccountsWiring.botDetectionFromSettings(settings),
    ZxcvbnCommonPasswords.layer,
    // At most half the threads hash, so that a burst of registrations leaves capacity for other requests.
    Argon2PasswordHasher.layer({ maxConcurrent: Math.max(1, Math.floor(availableParallelism() / 2)) })
  )

const access = ({ apiKey, baseUrl }: ProviderSettings) =>
  Option.match(apiKey, { onNone: () => undefined, onSome: (key) => ({ apiKey: key, baseUrl }) })

const isSandboxEnabled = (settings: Settings) =>
  Option.getOrElse(settings.sandboxModel, () => settings.environment === "development")

const models = (settings: Settings) => {
  const { anthropic, google, groq, openai, openrouter } = settings.providers
  const sandbox = isSandboxEnabled(settings)
  return OpenRouterModelCatalog.layer({ openRouterUrl: openrouter.baseUrl }).pipe(
    Layer.provideMerge(
      ConfiguredModelProviders.layer({
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

/** Speech with this process's providers. */
const speech = (settings: Settings) => {
  const { groq, openai, openrouter } = settings.providers
  return LocalSpeech.layer.pipe(
    Layer.provide(
      ConfiguredSpeechProviders.layer({
        openai: access(openai),
        groq: access(groq),
        openrouter: access(openrouter),
        sandbox: isSandboxEnabled(settings),
        baseUrls: Record.map(settings.providers, ({ baseUrl }) => baseUrl)
      })
    ),
    Layer.provide(UseCases.ownerKeys)
  )
}

const wildcards = new Set(["0.0.0.0", "::"])
const hostInUrl = (host: string) => (host.includes(":") ? `[${host}]` : host)

/** The instances of this host and the agent manager of this process. */
const instances = (settings: Settings) => {
  const { backendHost, backendPort } = settings.addresses
  // Instances run on this host, so they use the listening address instead of BACKEND_URL.
  const backendUrl = `http://${hostInUrl(wildcards.has(backendHost) ? "127.0.0.1" : backendHost)}:${backendPort}`
  const dataDirectory = resolve(settings.dataDir)
  const driver = ProcessInstanceDriver.layer({
    directory: join(dataDirectory, "instances"),
    bundle: fileURLToPath(new URL("./runtime.mjs", import.meta.url)),
    onClose: settings.supervised ? "stop" : "leave",
    uids: Option.getOrUndefined(settings.instanceUids),
    requiresAccounts: settings.environment === "production",
    ...Option.match(settings.otlpEndpoint, {
      onNone: () => ({}),
      onSome: (otlpEndpoint) => ({ otlpEndpoint })
    })
  })
  return UseCases.agentManager.pipe(
    Layer.provide(
      prepareDataDirectory(dataDirectory).pipe(
        Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message })),
        Effect.as(
          Layer.catchAll(driver, (error) =>
            Layer.fail(
              error._tag === "InstanceAccountsUnavailable" ? new ProgramMisconfigured({ reason: error.message }) : error
            )
          )
        ),
        Layer.unwrapEffect
      )
    ),
    Layer.provide(BerthAgentRuntime.layer),
    Layer.provide(UnixSocketClient.layer),
    Layer.provide(Layer.succeed(InstanceSettings, { backendUrl }))
  )
}

/** Skill folders beside this program. */
const skills = FolderSkillCatalog.layer(fileURLToPath(new URL("./skills", import.meta.url))).pipe(
  Layer.mapError(({ message }) => new ProgramMisconfigured({ reason: message }))
)

/** Page assets beside this program. */
const pages = (settings: Settings) =>
  Layer.merge(
    Layer.succeed(PageSettings, { salesEmail: settings.salesEmail }),
    Layer.effect(
      PageAssets.PageAssets,
      AssetFiles.readAssets(fileURLToPath(new URL("./pages", import.meta.url)), PageAssets.assetNames).pipe(
        Effect.map(PageAssets.make),
        Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message }))
      )
    )
  )

const readiness = Layer.effect(
  ReadinessChecks,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    checks: {
      database: Effect.provideService(DatabaseHealth.pingDatabase, SqlClient.SqlClient, sql)
    }
  }))
)

/** The listeners of the role, over shared services. */
export const serverProgram = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const databaseUrl = yield* requireDatabaseUrl(settings)
      const internalApiKey = yield* resolveInternalApiKey(settings)
      const { backendHost, backendPort, backendUrl, host, port } = settings.addresses
      const ai = models(settings)
      const drain = Duration.seconds(settings.drainSeconds)
      const sendsSpans = Option.isSome(settings.otlpEndpoint)
      const privately = Layer.mergeAll(
        Layer.succeed(InternalKey, internalApiKey),
        Layer.succeed(AiAccessPolicy, {
          isPrivate: settings.environment === "production",
          hosts: [backendUrl.hostname, backendHost]
        }),
        Layer.succeed(MetricsExposition, {
          text: Effect.sync(renderPrometheus),
          isOpenOnLoopback: settings.environment === "development"
        })
      )
      const webListener = WebListener.layer({ host, port, drain, sendsSpans }).pipe(
        Layer.provide(UseCases.web),
        Layer.provide(UseCases.agentTasks),
        Layer.provide(UseCases.ownerKeys),
        Layer.provide(webPorts(settings)),
        Layer.provide(pages(settings))
      )
      const backendListener = BackendListener.layer({ host: backendHost, port: backendPort, drain, sendsSpans }).pipe(
        Layer.provide(privately),
        Layer.provide(UseCases.backend),
        Layer.provide(ai),
        Layer.provide(JobsWiring.fromSettings(settings, databaseUrl))
      )
      const backendAt = { backendUrl: backendUrl.origin, internalApiKey }
      const remote = Layer.mergeAll(
        BackendAgentManager.layer(backendAt),
        BackendModelAnswers.layer(backendAt),
        BackendSpeech.layer(backendAt)
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
        // The web listener closes first: its requests in flight need the backend.
        all: webUp.pipe(
          Layer.provide(GatewayServices.localAnswers),
          Layer.provide(backendUp),
          Layer.provide(localSpeech),
          Layer.provide(instances(settings)),
          Layer.provide(ai)
        ),
        web: Layer.provide(webUp, remote),
        backend: backendUp.pipe(Layer.provide(localSpeech), Layer.provide(instances(settings)), Layer.provide(ai))
      }
      return listeners[settings.role].pipe(
        Layer.provide(readiness),
        Layer.provide(skills),
        Layer.provide(UseCases.shared),
        Layer.provide(
          Layer.succeed(AgentSettings, { models: settings.agentModels, legacyModels: settings.legacyModels })
        ),
        Layer.provide(GatewayWiring.settingsFromSettings(settings)),
        Layer.provide(InteractionWiring.fromSettings(settings)),
        Layer.provide(webSettings(settings)),
        Layer.provide(limits(settings, databaseUrl)),
        Layer.provide(
          PersistenceWiring.fromSettings(settings, {
            maxConnections: poolSize,
            applicationName: "berth-server",
            statementTimeout
          })
        ),
        Layer.mapError((error) => (error._tag === "ServeError" ? toProgramMisconfigured(error.cause) : error))
      )
    })
  )

const toProgramMisconfigured = (cause: unknown) =>
  new ProgramMisconfigured({
    reason:
      cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
        ? `A port is taken (${cause.message}). Set PORT and BACKEND_PORT to free ones.`
        : `The server cannot listen: ${String(cause)}`
  })
