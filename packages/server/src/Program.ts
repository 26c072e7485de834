import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import * as GatewayServices from "@berth/domain/gateway/GatewayServices"
import * as LocalSpeech from "@berth/domain/gateway/speech/LocalSpeech"
import { hostInUrl } from "@berth/infra/net/ListenHosts"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as AiWiring from "@berth/infra/wiring/AiWiring"
import * as BackendWiring from "@berth/infra/wiring/BackendWiring"
import * as BillingWiring from "@berth/infra/wiring/BillingWiring"
import * as ChannelsWiring from "@berth/infra/wiring/ChannelsWiring"
import * as ChainWiring from "@berth/infra/wiring/ChainWiring"
import * as InstancesWiring from "@berth/infra/wiring/InstancesWiring"
import * as MailWiring from "@berth/infra/wiring/MailWiring"
import * as LimitsWiring from "@berth/infra/wiring/LimitsWiring"
import * as OutboundWiring from "@berth/infra/wiring/OutboundWiring"
import * as ProvisioningWiring from "@berth/infra/wiring/ProvisioningWiring"
import * as SessionsWiring from "@berth/infra/wiring/SessionsWiring"
import * as SignInWiring from "@berth/infra/wiring/SignInWiring"
import { requireDatabaseUrl, resolveAdminEmails, resolveInternalApiKey } from "@berth/infra/wiring/SecretsWiring"
import * as VerificationWiring from "@berth/infra/wiring/VerificationWiring"
import * as GatewayWiring from "@berth/infra/wiring/GatewayWiring"
import * as InteractionWiring from "@berth/infra/wiring/InteractionWiring"
import * as RedisStartup from "@berth/infra/redis/RedisStartup"
import * as WalletsWiring from "@berth/infra/wiring/WalletsWiring"
import * as JobsWiring from "@berth/infra/wiring/JobsWiring"
import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import type { Settings } from "@berth/infra/configuration/Settings"
import * as ZxcvbnCommonPasswords from "@berth/infra/crypto/ZxcvbnCommonPasswords"
import * as Argon2PasswordHasher from "@berth/infra/crypto/Argon2PasswordHasher"
import * as InstanceMetrics from "@berth/infra/instance-drivers/InstanceMetrics"
import * as DatabaseMetrics from "@berth/infra/postgres/DatabaseMetrics"
import { makeDatabaseCheck } from "@berth/infra/postgres/DatabaseHealth"
import { ProgramMisconfigured, serviceVersion } from "@berth/infra/process/ProgramRunner"
import * as UnixSocketClient from "@berth/infra/runtime/UnixSocketClient"
import * as AssetFiles from "@berth/infra/files/AssetFiles"
import * as FolderSkillCatalog from "@berth/infra/skills/FolderSkillCatalog"
import * as UploadedSkillPackages from "@berth/infra/skills/UploadedSkillPackages"
import * as MetricsListener from "@berth/infra/telemetry/MetricsListener"
import { readPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { Array, Duration, Effect, Layer, Option, Schema } from "effect"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { AiAccessPolicy } from "./ai/AiAccessHttp.ts"
import * as BackendListener from "./BackendListener.ts"
import { parseProxies } from "./http/ClientAddress.ts"
import { ReadinessChecks } from "@berth/api/http/Health"
import { InternalKey } from "./http/InternalAuthHttp.ts"
import { MetricsExposition } from "./http/MetricsHttp.ts"
import { WebSettings } from "./http/WebSettings.ts"
import * as ConsoleAssets from "./pages/ConsoleAssets.ts"
import * as PageAssets from "./pages/PageAssets.ts"
import { PageSettings } from "./pages/Layout.ts"
import * as UseCases from "./UseCases.ts"
import * as WebListener from "./WebListener.ts"

const poolSize = 20
/** Bounds requests that hold a connection while the database stops. */
const statementTimeout = Duration.seconds(4)

const webSettings = (settings: Settings) =>
  Layer.succeed(WebSettings, {
    appUrl: settings.addresses.appUrl,
    agentsDomain: settings.addresses.agentsDomain,
    trustedProxies: parseProxies(settings.trustedProxies),
    serviceVersion,
    uploads: { ...settings.uploads, grace: Duration.seconds(10) }
  })

/** Ports of the public listener. */
const webPorts = (settings: Settings) =>
  Layer.mergeAll(
    SessionsWiring.fromSettings(settings),
    ProvisioningWiring.liveStreamsFromSettings(settings),
    BillingWiring.secretFromSettings(settings),
    BillingWiring.fromSettings(settings),
    AiWiring.keyVerifierFromSettings(settings),
    ChainWiring.fromSettings(settings),
    VerificationWiring.fromSettings(settings),
    SignInWiring.fromSettings(settings),
    GatewayWiring.fromSettings(settings),
    AccountsWiring.fromSettings(settings),
    AccountsWiring.botDetectionFromSettings(settings),
    ChannelsWiring.fromSettings(settings),
    ZxcvbnCommonPasswords.layer,
    // At most half the threads hash, so that a burst of registrations leaves capacity for other requests.
    Argon2PasswordHasher.layer({ maxConcurrent: Math.max(1, Math.floor(availableParallelism() / 2)) })
  )

/** Ports for provisioning with channel tokens. */
const provisioningPorts = (settings: Settings) =>
  Layer.mergeAll(
    AccountsWiring.fromSettings(settings),
    ChannelsWiring.fromSettings(settings),
    ProvisioningWiring.liveStreamsFromSettings(settings),
    ProvisioningWiring.policyFromSettings(settings)
  )

const models = (settings: Settings) => Layer.merge(AiWiring.modelsFromSettings(settings), UseCases.ownerKeys)

const speech = (settings: Settings) =>
  LocalSpeech.layer.pipe(Layer.provide(AiWiring.speechFromSettings(settings)), Layer.provide(UseCases.ownerKeys))

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

/** Agent manager of this process, and the address at which instances reach the backend. */
const instances = (settings: Settings) =>
  Layer.provide(
    Layer.merge(UseCases.agentManager, Layer.context<InstancesWiring.RuntimeListenerAddress>()),
    InstancesWiring.fromSettings(settings, pathOf("./runtime/runtime.mjs"))
  )

/** Skill folders next to this program, and the reader of uploaded skills. */
const skills = FolderSkillCatalog.layer(pathOf("./skills")).pipe(
  Layer.mapError(({ message }) => new ProgramMisconfigured({ reason: message })),
  Layer.merge(UploadedSkillPackages.layer)
)

/** Page assets next to this program. */
const pages = (settings: Settings) =>
  Layer.mergeAll(
    Layer.succeed(PageSettings, {
      salesEmail: settings.salesEmail,
      administratorHint:
        settings.environment === "development" ? Array.head(resolveAdminEmails(settings)) : Option.none(),
      logsMailLinks: MailWiring.logsMailLinks(settings),
      repliesFromSandbox: AiWiring.hasSandboxOnly(settings)
    }),
    Layer.effect(
      PageAssets.PageAssets,
      AssetFiles.readAssets(pathOf("./pages"), PageAssets.assetNames).pipe(
        Effect.map(PageAssets.make),
        Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message }))
      )
    ),
    Layer.effect(
      ConsoleAssets.ConsoleAssets,
      Effect.gen(function* () {
        const directory = pathOf("./console")
        const manifest = yield* AssetFiles.readAssets(directory, [ConsoleAssets.consoleManifest])
        const read = yield* Schema.decodeUnknown(Schema.parseJson(ConsoleAssets.ConsoleManifest))(
          new TextDecoder().decode(manifest.get(ConsoleAssets.consoleManifest))
        )
        return ConsoleAssets.make(read, yield* AssetFiles.readAssets(directory, ConsoleAssets.listConsoleFiles(read)))
      }).pipe(Effect.mapError(({ message }) => new ProgramMisconfigured({ reason: message })))
    )
  )

const readiness = Layer.effect(
  ReadinessChecks,
  Effect.map(makeDatabaseCheck, (database) => ({ checks: { database } }))
)

/** Only the backend exports figures of the database, which cover all processes, and of instances. */
const exposition = ({ environment, role }: Settings) =>
  Layer.effect(
    MetricsExposition,
    Effect.gen(function* () {
      const [readInstances, readDatabase] =
        role === "web"
          ? [Effect.void, Effect.succeed("")]
          : yield* Effect.all([InstanceMetrics.make, DatabaseMetrics.make])
      const read = Effect.all([Effect.zipRight(readInstances, readPrometheus), readDatabase], {
        concurrency: "unbounded"
      })
      return {
        text: Effect.map(read, (texts) => texts.join("")),
        isOpenOnLoopback: environment === "development"
      }
    })
  ).pipe(Layer.provide(UnixSocketClient.layer))

const metricsListener = (settings: Settings) =>
  Layer.unwrapEffect(Effect.map(MetricsExposition, ({ text }) => MetricsListener.fromSettings(settings, text)))

/** Listeners of the role, with shared services. */
export const serverProgram = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const databaseUrl = yield* requireDatabaseUrl(settings)
      const internalApiKey = yield* resolveInternalApiKey(settings)
      const { backendHost, backendPort, backendUrl, host, port } = settings.addresses
      const ai = models(settings)
      const drain = Duration.seconds(settings.drainSeconds)
      const sendsSpans = Option.isSome(settings.telemetry.signals.traces)
      const privately = Layer.mergeAll(
        Layer.succeed(InternalKey, internalApiKey),
        Layer.succeed(AiAccessPolicy, {
          isPrivate: settings.environment === "production",
          hosts: [backendUrl.hostname, backendHost]
        })
      )
      const webListener = WebListener.layer({ host, port, drain, sendsSpans, idleAfter: settings.instanceIdle }).pipe(
        Layer.provide(UseCases.web),
        Layer.provide(UseCases.agentTasks),
        Layer.provide(UseCases.ownerKeys),
        Layer.provide(webPorts(settings)),
        Layer.provide(pages(settings))
      )
      const announced = (name: string, address: string) =>
        Layer.effectDiscard(Effect.logInfo(`The ${name} listens on ${address}`))
      const runtimeListener = Layer.unwrapEffect(
        Effect.map(InstancesWiring.RuntimeListenerAddress, (address) =>
          Option.isNone(address)
            ? Layer.empty
            : Layer.provideMerge(
                announced("runtime API", `http://${hostInUrl(address.value.host)}:${address.value.port}`),
                BackendListener.runtimeLayer({ ...address.value, drain, sendsSpans })
              )
        )
      )
      const backendListener = Layer.merge(
        BackendListener.layer({ host: backendHost, port: backendPort, drain, sendsSpans }),
        runtimeListener
      ).pipe(
        Layer.provide(privately),
        Layer.provide(UseCases.backend),
        Layer.provide(ChannelsWiring.fromSettings(settings)),
        Layer.provide(ai),
        Layer.provide(OutboundWiring.turnsFromSettings(settings))
      )
      const localSpeech = speech(settings)
      const localProvisioning = Layer.provide(UseCases.provisioning, provisioningPorts(settings))
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
          Layer.provide(localProvisioning),
          Layer.provide(localSpeech),
          Layer.provide(instances(settings)),
          Layer.provide(ai)
        ),
        web: Layer.provide(webUp, BackendWiring.fromSettings(settings)),
        backend: backendUp.pipe(
          Layer.provide(localProvisioning),
          Layer.provide(localSpeech),
          Layer.provide(instances(settings)),
          Layer.provide(ai)
        )
      }
      return listeners[settings.role].pipe(
        Layer.provide(metricsListener(settings)),
        Layer.provide(exposition(settings)),
        Layer.provide(readiness),
        Layer.provide(skills),
        Layer.provide(UseCases.shared),
        Layer.provide(
          Layer.succeed(AgentSettings, { models: settings.agentModels, legacyModels: settings.legacyModels })
        ),
        Layer.provide(GatewayWiring.settingsFromSettings(settings)),
        Layer.provide(InteractionWiring.fromSettings(settings)),
        Layer.provide(WalletsWiring.fromSettings(settings)),
        Layer.provide(webSettings(settings)),
        Layer.provide(JobsWiring.fromSettings(settings, databaseUrl)),
        Layer.provide(LimitsWiring.fromSettings(settings, databaseUrl)),
        Layer.provide(RedisStartup.layer(settings.redisUrl)),
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
