import { PasswordHasher } from "@berth/domain/accounts/password/PasswordHasher"
import type { User } from "@berth/domain/shared/User"
import { AgentSettings } from "@berth/domain/agents/AgentSettings"
import type { PlanId } from "@berth/domain/shared/PlanId"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { BillingSettings } from "@berth/domain/billing/BillingSettings"
import { PurchasedItem } from "@berth/domain/billing/events/PurchasedItem"
import { defaultLimits, type Limit, type LimitName } from "@berth/domain/limits/Limit"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import * as UploadedSkillPackages from "@berth/infra/skills/UploadedSkillPackages"
import { type Skill, SkillCatalog } from "@berth/domain/skills/Skill"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import { CardEventSecret } from "@berth/domain/billing/events/CardEventInbox"
import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import * as GatewayServices from "@berth/domain/gateway/GatewayServices"
import type { GatingToken } from "@berth/domain/gating/TokenGate"
import * as SimpleWebAuthn from "@berth/infra/webauthn/SimpleWebAuthn"
import * as StripeCardProcessor from "@berth/infra/stripe/StripeCardProcessor"
import * as AccountsWiring from "@berth/infra/wiring/AccountsWiring"
import * as BackendModelAnswers from "@berth/infra/backend/BackendModelAnswers"
import * as BackendAgentManager from "@berth/infra/backend/BackendAgentManager"
import * as BackendChannelProvisioning from "@berth/infra/backend/BackendChannelProvisioning"
import * as ChannelsWiring from "@berth/infra/wiring/ChannelsWiring"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import * as OutboundClient from "@berth/infra/net/OutboundClient"
import * as VerificationWiring from "@berth/infra/wiring/VerificationWiring"
import * as ChainWiring from "@berth/infra/wiring/ChainWiring"
import type { CdpSettings } from "@berth/infra/cdp/CdpDeveloperWallets"
import * as WalletsWiring from "@berth/infra/wiring/WalletsWiring"
import * as SessionsWiring from "@berth/infra/wiring/SessionsWiring"
import * as SignInWiring from "@berth/infra/wiring/SignInWiring"
import * as PersistenceWiring from "@berth/infra/wiring/PersistenceWiring"
import type { OAuthASettings, OAuthBSettings, SocialIdentitySettings } from "@berth/infra/configuration/SignInSettings"
import * as ZxcvbnCommonPasswords from "@berth/infra/crypto/ZxcvbnCommonPasswords"
import { generateJwtKey, parseJwtKey } from "@berth/infra/crypto/JwtKey"
import * as Argon2PasswordHasher from "@berth/infra/crypto/Argon2PasswordHasher"
import * as PostgresRateLimiter from "@berth/infra/rate-limiter/PostgresRateLimiter"
import { renderPrometheus } from "@berth/infra/telemetry/PrometheusFormat"
import { AiAccessPolicy } from "@berth/server/ai/AiAccessHttp"
import * as BackendListener from "@berth/server/BackendListener"
import { parseProxies } from "@berth/server/http/ClientAddress"
import { ReadinessChecks } from "@berth/api/http/Health"
import { InternalKey } from "@berth/server/http/InternalAuthHttp"
import { MetricsExposition } from "@berth/server/http/MetricsHttp"
import { WebSettings } from "@berth/server/http/WebSettings"
import { makeSessionCookieName } from "@berth/server/http/SecretCookies"
import { ConsoleAssets } from "@berth/server/pages/ConsoleAssets"
import { PageAssets } from "@berth/server/pages/PageAssets"
import { PageSettings } from "@berth/server/pages/Layout"
import * as UseCases from "@berth/server/UseCases"
import * as WebListener from "@berth/server/WebListener"
import { Context, Duration, Effect, Layer, Option, Redacted, Ref, Scope } from "effect"
import { randomBytes } from "node:crypto"
import { testCardEventSecret } from "./billing/CardEventRequests.ts"
import { freePort } from "./FreePort.ts"
import { type HttpCallResponse, type HttpCall, sendHttpCall } from "./HttpCall.ts"
import * as Mailbox from "./Mailbox.ts"
import { migratedDatabase } from "./MigratedDatabase.ts"
import { consoleAssets, pageAssets, skillCatalog, insertUser } from "./Samples.ts"
import * as DisabledBotDetection from "@berth/infra/bots/DisabledBotDetection"
import type { WalletChainTest } from "@berth/infra/chain/WalletChainTest"
import * as SdkMcpClient from "@berth/infra/mcp/SdkMcpClient"
import * as WebPagesTest from "@berth/infra/web-pages/WebPagesTest"
import * as MailerTest from "@berth/infra/mail/MailerTest"
import * as ModelKeyVerifierTest from "@berth/infra/ai/ModelKeyVerifierTest"
import type { OAuthProvidersTest } from "@berth/infra/oauth/OAuthProvidersTest"
import type { SocialIdentityTokensTest } from "@berth/infra/oauth/SocialIdentityTokensTest"
import type { CardProcessorTest } from "@berth/infra/stripe/CardProcessorTest"
import * as AgentManagerTest from "@berth/infra/backend/AgentManagerTest"
import * as FakeJobQueue from "../fakes/FakeJobQueue.ts"
import * as PaymentChainTest from "@berth/infra/tempo/PaymentChainTest"
import { makeGatewaySettings } from "./payments/PaymentFixtures.ts"
import { noExporter } from "@berth/infra/telemetry/NoExporter"
import { recordLogs } from "./RecordedTelemetry.ts"
import * as FakeAgentTasks from "../fakes/FakeAgentTasks.ts"
import { UnclaimedPolicy } from "@berth/domain/provisioning/UnclaimedAgents"
import * as BuiltInLiveStreams from "@berth/domain/provisioning/live-streams/BuiltInLiveStreams"
import * as SpeechTest from "@berth/infra/backend/SpeechTest"
import * as ModelProvidersTest from "@berth/infra/ai/ModelProvidersTest"
import { Credits } from "@berth/domain/shared/Money"

export interface TestAppOptions {
  /** Replaces ports of external systems. */
  readonly overrides?: Layer.Layer<never>
  /** Public URL. Default: that of the web listener. */
  readonly appUrl?: string
  /** The built console. Default: empty files. */
  readonly consoleAssets?: ConsoleAssets["Type"]
  /** Default: `skillCatalog`. */
  readonly skills?: ReadonlyArray<Skill>
  /** Replaces production limits. Each call has a new client address unless it sets one. */
  readonly limits?: Partial<Record<LimitName, Limit>>
  /** Transport between web listener and agent manager: in process, or HTTP to the backend listener. */
  readonly agentManagerTransport?: "in process" | "remote"
  readonly aiLayerTransport?: "in process" | "remote"
  readonly aiLayerIsPrivate?: boolean
  /** Maximum number of waiting password hashes. */
  readonly maxWaitingHashes?: number
  /** A migrated database. Default: a new one. */
  readonly databaseUrl?: Redacted.Redacted
  /** Key of sealed columns, shared by servers over one database. Default: a new one. */
  readonly secretsKey?: Buffer
  /** Time for requests in flight after a listener closes. Default: 1 s. */
  readonly drainLimit?: Duration.Duration
  /** Default: instances never sleep. */
  readonly instanceIdle?: Duration.Duration
  /** Node of the base network. Default: unreachable. */
  readonly baseRpcUrl?: string
  /** Node of base-sepolia, the network of user wallets. Default: unreachable. */
  readonly baseSepoliaRpcUrl?: string
  /** Private networks of services that agents may pay. Default: none. */
  readonly outboundAllowCidrs?: ReadonlyArray<string>
  /** The developer platform. Default: not configured. */
  readonly cdp?: CdpSettings
  /** Node of Ethereum. Default: unreachable. */
  readonly ethereumRpcUrl?: string
  /** Contracts and trusted attesters. Default: none. */
  readonly verification?: Pick<VerificationWiring.VerificationOptions, "eas" | "coinbase">
  readonly gatingToken?: GatingToken
  /** The Bot API of platformA. Default: unreachable. */
  readonly platformAUrl?: URL
  /** The WhatsApp Cloud API and the operator's app secret. Default: unreachable, no secret. */
  readonly platformB?: { readonly apiUrl: URL; readonly appSecret: string }
  /** The Discord API. Default: unreachable. */
  readonly platformCUrl?: URL
  /** Whether rights of an email require its verification, as in production. */
  readonly verifiedEmailsOnly?: boolean
  /** Settings of the identity providers. Default: none configured. */
  readonly oauthA?: Partial<OAuthASettings>
  readonly oauthB?: Partial<OAuthBSettings>
  readonly socialIdentity?: Partial<SocialIdentitySettings>
  readonly providerTimeout?: Duration.Duration
  /** Statement timeout. Default: that of the pool. */
  readonly statementTimeout?: Duration.Duration
  /** Limits of large bodies. Default: those of the settings. */
  readonly uploads?: WebSettings["Type"]["uploads"]
  /** Secret of card events; null for none. */
  readonly cardEventSecret?: string | null
  readonly creditPrices?: ReadonlyMap<string, number>
  /** Enables card-free plans and development hints. Default: true. */
  readonly isDevelopment?: boolean
  /** Backend address of a remote agent manager. Default: the backend listener. */
  readonly remoteBackendUrl?: string
  /** Default: 500. */
  readonly unclaimedMaximum?: number
  /** Whether spans are exported. Default: true. */
  readonly sendsSpans?: boolean
  /** Address of a listener for the runtime routes alone. Default: none. */
  readonly runtimeListener?: { readonly host: string; readonly port: number }
}

/** The test Layers of ports. Card processor, base chain and identity providers are live and not configured. */
const defaultPorts = ({
  appUrl,
  network,
  options
}: {
  readonly appUrl: URL
  readonly network: PaymentChainTest.InMemoryPaymentNetwork
  readonly options: TestAppOptions
}) =>
  Layer.mergeAll(
    AgentManagerTest.layer,
    ModelProvidersTest.layer,
    ModelKeyVerifierTest.layer,
    SpeechTest.layer,
    WebPagesTest.layer,
    Layer.provide(SdkMcpClient.layer, OutboundClient.layer({ allowed: options.outboundAllowCidrs ?? [] })),
    FakeAgentTasks.layer,
    FakeJobQueue.layer,
    MailerTest.layer,
    DisabledBotDetection.layer,
    StripeCardProcessor.layerNotConfigured,
    Layer.succeed(PaymentChain, network.chain),
    Layer.succeed(PaymentChainTest.PaymentChainTest, network),
    ChainWiring.layer({
      baseRpcUrl: Redacted.make(new URL(options.baseRpcUrl ?? unreachableNodeUrl)),
      ethereumRpcUrl: Redacted.make(new URL(options.ethereumRpcUrl ?? unreachableNodeUrl)),
      gatingToken: Option.fromNullable(options.gatingToken)
    }),
    WalletsWiring.layer({
      rpcUrl: Redacted.make(new URL(options.baseSepoliaRpcUrl ?? unreachableNodeUrl)),
      outboundAllowCidrs: options.outboundAllowCidrs ?? [],
      cdp: Option.fromNullable(options.cdp)
    }),
    SimpleWebAuthn.layer({ appUrl }),
    VerificationWiring.chainLayer({
      baseRpcUrl: Redacted.make(new URL(options.baseRpcUrl ?? unreachableNodeUrl)),
      ethereumRpcUrl: Redacted.make(new URL(options.ethereumRpcUrl ?? unreachableNodeUrl)),
      ...(options.verification ?? noVerification)
    }).pipe(Layer.provide(OutboundClient.layer({ allowed: ["127.0.0.0/8"] }))),
    SignInWiring.layer({
      appUrl,
      oauthA: { ...unreachableA, ...options.oauthA },
      oauthB: { ...unreachableB, ...options.oauthB },
      socialIdentity: { ...unreachableSocial, ...options.socialIdentity },
      timeout: options.providerTimeout ?? Duration.seconds(5)
    })
  )

/** A port of an external system, or the handle of its test Layer. */
type Port =
  | Layer.Layer.Success<ReturnType<typeof defaultPorts>>
  | CardProcessorTest
  | WalletChainTest
  | OAuthProvidersTest
  | SocialIdentityTokensTest

export interface AppCall extends HttpCall {
  readonly as?: SignedIn
  /** The client's address. */
  readonly from?: string
}

export interface SignedIn {
  readonly user: User
  /** The value of the header `Cookie`. */
  readonly cookie: string
}

/** Both listeners over a new database and the test Layers of ports. */
export class TestApp extends Context.Tag("@berth/test/TestApp")<
  TestApp,
  {
    readonly appUrl: URL
    readonly cookieName: string
    readonly internalKey: string
    readonly webUrl: string
    readonly backendUrl: string
    readonly web: (call: AppCall) => Effect.Effect<HttpCallResponse>
    readonly backend: (call: AppCall) => Effect.Effect<HttpCallResponse>
    /** Sets the result of the database check. Initially up. */
    readonly setDatabaseUp: (up: boolean) => Effect.Effect<void>
    readonly passwordHasherCalls: Effect.Effect<ReadonlyArray<keyof Context.Tag.Service<PasswordHasher>>>
    /** The chain of machine payments. */
    readonly paymentNetwork: PaymentChainTest.InMemoryPaymentNetwork
    /** The log lines so far, as JSON. */
    readonly logLines: Effect.Effect<ReadonlyArray<string>>
  }
>() {}

export const web = (call: AppCall) => Effect.flatMap(TestApp, (app) => app.web(call))

export const backend = (call: AppCall) => Effect.flatMap(TestApp, (app) => app.backend(call))

/** The administrator of every test application. */
export const testAdminEmail = "admin@example.com"

export const referralCredits = 3

/** An address without a listener. No response or log may contain its path or query. */
const unreachableNodeUrl = "http://127.0.0.1:1/v2/hunter2?key=hunter2"

const unreachable = new URL("http://127.0.0.1:1/")
const unreachableA: OAuthASettings = {
  issuer: unreachable,
  clientAuthentication: "client_secret_basic",
  client: Option.none()
}
const unreachableB: OAuthBSettings = {
  endpoints: { authorizeUrl: unreachable, tokenUrl: unreachable, userUrl: unreachable, emailsUrl: unreachable },
  clientAuthentication: "client_secret_post",
  client: Option.none()
}
const unreachableSocial: SocialIdentitySettings = {
  jwksUrl: unreachable,
  issuer: "https://social.example",
  audience: Option.none()
}

const noContract = WalletAddress.make(`0x${"00".repeat(20)}`)
const noVerification: Pick<VerificationWiring.VerificationOptions, "eas" | "coinbase"> = {
  eas: { address: noContract, schemas: [], attesters: [] },
  coinbase: { indexer: noContract, schema: `0x${"00".repeat(32)}`, attester: noContract }
}

let callers = 0
/** A client address without earlier calls. */
const newAddress = () => {
  callers += 1
  return `10.${(callers >> 16) & 255}.${(callers >> 8) & 255}.${callers & 255}`
}

const fill = ({ as, from, ...call }: AppCall): HttpCall => ({
  ...call,
  headers: {
    "x-forwarded-for": from ?? newAddress(),
    ...(as === undefined ? {} : { cookie: as.cookie }),
    ...call.headers
  }
})

/** Weak parameters: those of production would take a large part of the tests' time. */
const lightParameters = { memoryCost: 64, timeCost: 1, parallelism: 1 }

/** The real hasher with a record of its calls; with production's parameters if its queue is limited. */
const hasher = (
  requests: Ref.Ref<ReadonlyArray<keyof Context.Tag.Service<PasswordHasher>>>,
  { maxWaitingHashes }: TestAppOptions
) =>
  Layer.map(
    Argon2PasswordHasher.layer({
      maxConcurrent: 2,
      ...(maxWaitingHashes === undefined ? { parameters: lightParameters } : { maxWaiting: maxWaitingHashes })
    }),
    (context) => {
      const real = Context.get(context, PasswordHasher)
      const note = (method: keyof typeof real) => Ref.update(requests, (before) => [...before, method])
      return Context.make(PasswordHasher, {
        hash: (password) => Effect.zipRight(note("hash"), real.hash(password)),
        verify: (password, hash) => Effect.zipRight(note("verify"), real.verify(password, hash)),
        verifyDummy: (password) => Effect.zipRight(note("verifyDummy"), real.verifyDummy(password))
      })
    }
  )

const make = (options: TestAppOptions) =>
  Effect.gen(function* () {
    const databaseUrl = options.databaseUrl ?? (yield* migratedDatabase)
    const webPort = yield* freePort
    const backendPort = yield* Effect.repeat(freePort, { until: (port) => port !== webPort })
    const [webUrl, backendUrl] = [`http://127.0.0.1:${webPort}`, `http://127.0.0.1:${backendPort}`]
    const appUrl = new URL(options.appUrl ?? `http://localhost:${webPort}`)
    const internalKey = Redacted.make(randomBytes(32).toString("base64url"))
    const hashed = yield* Ref.make<ReadonlyArray<keyof Context.Tag.Service<PasswordHasher>>>([])
    const network = yield* PaymentChainTest.make
    const databaseUp = yield* Ref.make(true)
    const { layer: logger, lines } = recordLogs()

    const verifiedEmailsOnly = options.verifiedEmailsOnly ?? false
    const storage = PersistenceWiring.layer({
      databaseUrl,
      maxConnections: 10,
      applicationName: "test-server",
      ...(options.statementTimeout === undefined ? {} : { statementTimeout: options.statementTimeout }),
      keys: [{ id: "test", key: Redacted.make(options.secretsKey ?? randomBytes(32)) }],
      adminEmails: [testAdminEmail],
      verifiedEmailsOnly
    })
    const around = Layer.mergeAll(
      BuiltInLiveStreams.layer({ appUrl }),
      Layer.succeed(UnclaimedPolicy, { lifetime: Duration.hours(24), maximum: options.unclaimedMaximum ?? 500 }),
      ChannelsWiring.layer({
        appUrl,
        platforms: {
          platformA: { apiUrl: options.platformAUrl ?? unreachable },
          platformB: {
            apiUrl: options.platformB?.apiUrl ?? unreachable,
            appSecret: Option.map(Option.fromNullable(options.platformB?.appSecret), (secret) => Redacted.make(secret)),
            verifyToken: Option.none()
          },
          platformC: { apiUrl: options.platformCUrl ?? unreachable }
        }
      }),
      SessionsWiring.layer({ key: yield* parseJwtKey(generateJwtKey()), appUrl }),
      Layer.succeed(WebSettings, {
        appUrl,
        agentsDomain: "agents.localhost",
        trustedProxies: parseProxies(["127.0.0.1"]),
        serviceVersion: "1.2.3-test",
        uploads: options.uploads ?? { minimumBytesPerSecond: 10_000, grace: Duration.seconds(10), perAddress: 4 }
      }),
      Layer.succeed(ReadinessChecks, { checks: { database: Effect.filterOrFail(databaseUp, (isUp) => isUp) } }),
      PostgresRateLimiter.layer({ url: databaseUrl, limits: { ...defaultLimits, ...options.limits } })
    )
    const accountRules = AccountsWiring.layer({ referralCredits: Credits(referralCredits), appUrl, verifiedEmailsOnly })
    const rules = Layer.mergeAll(
      Layer.succeed(SkillCatalog, options.skills ?? skillCatalog),
      UploadedSkillPackages.layer,
      Layer.succeed(PageAssets, pageAssets),
      Layer.succeed(ConsoleAssets, options.consoleAssets ?? consoleAssets),
      Layer.succeed(PageSettings, {
        salesEmail: "sales@example.com",
        administratorHint: Option.fromNullable(options.isDevelopment === false ? null : testAdminEmail),
        logsMailLinks: options.isDevelopment ?? true,
        repliesFromSandbox: options.isDevelopment ?? true
      }),
      Layer.succeed(
        CardEventSecret,
        Option.map(
          Option.fromNullable(options.cardEventSecret === undefined ? testCardEventSecret : options.cardEventSecret),
          (secret) => Redacted.make(secret)
        )
      ),
      Layer.succeed(BillingSettings, {
        hasCardProcessor: options.isDevelopment === false,
        offersPlansWithoutPayment: options.isDevelopment ?? true,
        prices: new Map(
          [...(options.creditPrices ?? [])].map(
            ([id, credits]) => [id, PurchasedItem.Credits({ credits: Credits(credits) })] as const
          )
        )
      }),
      accountRules,
      ZxcvbnCommonPasswords.layer,
      hasher(hashed, options)
    )
    const privately = Layer.mergeAll(
      Layer.succeed(InternalKey, internalKey),
      Layer.succeed(AiAccessPolicy, { isPrivate: options.aiLayerIsPrivate ?? false, hosts: ["berth.test"] }),
      Layer.succeed(MetricsExposition, { text: Effect.sync(renderPrometheus), isOpenOnLoopback: true })
    )
    const payments = Layer.succeed(GatewaySettings, makeGatewaySettings({ network, realm: appUrl.host }))
    const sendsSpans = options.sendsSpans ?? true
    const listening = (port: number) => ({
      host: "127.0.0.1",
      port,
      drain: options.drainLimit ?? Duration.seconds(1),
      sendsSpans
    })
    const remote = { backendUrl: options.remoteBackendUrl ?? backendUrl, internalApiKey: internalKey }
    const idleAfter = Option.fromNullable(options.instanceIdle)
    const web = WebListener.layer({ ...listening(webPort), idleAfter }).pipe(
      Layer.provide(UseCases.web),
      Layer.provide(Layer.mergeAll(rules, payments)),
      Layer.provide(
        options.aiLayerTransport === "remote" ? BackendModelAnswers.layer(remote) : GatewayServices.localAnswers
      )
    )
    const runtimeListener = Option.match(Option.fromNullable(options.runtimeListener), {
      onNone: () => Layer.empty,
      onSome: (address) => BackendListener.runtimeLayer({ ...listening(address.port), ...address })
    })
    const backend = Layer.merge(BackendListener.layer(listening(backendPort)), runtimeListener).pipe(
      Layer.provide(privately),
      Layer.provide(UseCases.backend),
      Layer.provide(Layer.merge(rules, payments))
    )
    const provisioning = Layer.provide(UseCases.provisioning, rules)
    const app = Layer.succeed(TestApp, {
      appUrl,
      cookieName: makeSessionCookieName(appUrl),
      internalKey: Redacted.value(internalKey),
      webUrl,
      backendUrl,
      web: (call) => sendHttpCall(webUrl, fill(call)),
      backend: (call) => sendHttpCall(backendUrl, fill(call)),
      setDatabaseUp: (up) => Ref.set(databaseUp, up),
      passwordHasherCalls: hashed,
      paymentNetwork: network,
      logLines: Effect.sync(() => [...lines])
    })
    return app.pipe(
      Layer.provideMerge(
        options.agentManagerTransport === "remote"
          ? Layer.provide(
              Layer.fresh(web),
              Layer.merge(BackendAgentManager.layer(remote), BackendChannelProvisioning.layer(remote))
            )
          : Layer.provide(web, provisioning)
      ),
      Layer.provideMerge(Layer.provide(backend, provisioning)),
      Layer.provideMerge(Layer.provide(Mailbox.layer, accountRules)),
      Layer.provideMerge(UseCases.shared),
      Layer.provide(Layer.succeed(AgentSettings, { models: ["claude-opus-4-6", "gpt-4"], legacyModels: new Map() })),
      Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
      Layer.provideMerge(around),
      Layer.provideMerge(storage),
      Layer.provideMerge(Layer.merge(defaultPorts({ appUrl, network, options }), options.overrides ?? Layer.empty)),
      Layer.provide(sendsSpans ? Layer.empty : noExporter),
      Layer.provide(logger),
      Layer.orDie
    )
  })

type AppServices = Layer.Layer.Success<Effect.Effect.Success<ReturnType<typeof make>>>

/** The test application with the services of all use cases and the handles of its ports. */
export function layer<Provided extends Port>(
  options: TestAppOptions & { readonly overrides: Layer.Layer<Provided> }
): Layer.Layer<AppServices | Provided>
export function layer(options?: TestAppOptions): Layer.Layer<AppServices>
export function layer(options: TestAppOptions = {}) {
  return Layer.unwrapScoped(Effect.orDie(make(options)))
}

/** Files of a worker share modules, and therefore this Layer, until the process ends. */
const memoMap = Effect.runSync(Layer.makeMemoMap)
const workerScope = Effect.runSync(Scope.make())
const standard = layer({ sendsSpans: false })
const buildStandard = (scope: Scope.Scope) => Layer.buildWithMemoMap(standard, memoMap, scope)

/** Started once per worker, for tests that read only their own rows and no spans, and leave the ports unchanged. */
export const shared: typeof standard = Layer.scopedContext(
  Effect.zipRight(buildStandard(workerScope), Effect.flatMap(Effect.scope, buildStandard))
)

export const openSession = (user: User) =>
  Effect.gen(function* () {
    const { cookieName } = yield* TestApp
    const { token } = yield* (yield* Sessions).open(user.id)
    return { user, cookie: `${cookieName}=${Redacted.value(token)}` } satisfies SignedIn
  })

/** A new user with a session, and a subscription if a plan is given. */
export const signInNewUser = (plan?: PlanId) =>
  Effect.gen(function* () {
    const { id } = yield* insertUser("guest")
    if (plan !== undefined) yield* (yield* SubscriptionRepository).save({ userId: id, plan, status: "active" })
    const user = yield* Effect.flatten((yield* UserRepository).find(id))
    return yield* openSession(user)
  })
