import { AccountRules } from "@berth/domain/accounts/AccountRules"
import type { BotDetection } from "@berth/domain/accounts/BotDetection"
import { PasswordHasher } from "@berth/domain/accounts/Password"
import type { User } from "@berth/domain/accounts/User"
import { AgentModels } from "@berth/domain/agents/AgentModels"
import { LegacyModels } from "@berth/domain/agents/LegacyModels"
import type { PlanId } from "@berth/domain/billing/Plan"
import { SubscriptionRepository } from "@berth/domain/billing/Subscription"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import type { CardProcessor } from "@berth/domain/billing/CardProcessor"
import { CreditPrices } from "@berth/domain/billing/CreditPrices"
import { KeyCheck } from "@berth/domain/secrets/KeyCheck"
import { defaultLimits } from "@berth/domain/limits/Limit"
import type { Limit, LimitName } from "@berth/domain/limits/RateLimiter"
import { SkillCatalogue } from "@berth/domain/skills/SkillCatalogue"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import { PaymentDigests } from "@berth/domain/gateway/payments/PaymentDigests"
import { PaymentSettings } from "@berth/domain/gateway/payments/PaymentSettings"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { PluginPrices } from "@berth/domain/gateway/PluginPrices"
import type { GatingToken } from "@berth/domain/gating/GatingToken"
import type { Speech } from "@berth/domain/gateway/Speech"
import * as StripeCardProcessor from "@berth/infra/stripe/StripeCardProcessor"
import * as AgentManagerClient from "@berth/infra/backend/AgentManagerClient"
import * as ModelAnswersClient from "@berth/infra/backend/ModelAnswersClient"
import * as CardEventSignatures from "@berth/infra/cards/CardEventSignatures"
import * as NoBotDetection from "@berth/infra/bots/NoBotDetection"
import * as Chain from "@berth/infra/composition/Chain"
import * as Identity from "@berth/infra/composition/Identity"
import * as Storage from "@berth/infra/composition/Storage"
import type {
  OAuthASettings,
  OAuthBSettings,
  SocialIdentitySettings
} from "@berth/infra/configuration/IdentitySettings"
import * as JoseAccessTokens from "@berth/infra/crypto/AccessTokens"
import * as CommonPasswords from "@berth/infra/crypto/CommonPasswords"
import { generateJwtKey, parseJwtKey } from "@berth/infra/crypto/JwtKey"
import * as Argon2 from "@berth/infra/crypto/PasswordHasher"
import * as PostgresRateLimiter from "@berth/infra/limits/PostgresRateLimiter"
import { renderPrometheus } from "@berth/infra/telemetry/Prometheus"
import { AiLayerIsPrivate } from "@berth/server/ai/AiAccessHttp"
import * as BackendListener from "@berth/server/BackendListener"
import { proxyList } from "@berth/server/http/ClientAddress"
import { Readiness } from "@berth/server/http/HealthHttp"
import { InternalKey } from "@berth/server/http/InternalAuthHttp"
import { MetricsText } from "@berth/server/http/MetricsHttp"
import { WebSettings } from "@berth/server/http/WebSettings"
import { sessionCookieName } from "@berth/server/sessions/SessionCookie"
import { PageAssets } from "@berth/server/pages/PageAssets"
import { PageSettings } from "@berth/server/pages/PageSettings"
import * as UseCases from "@berth/server/UseCases"
import * as WebListener from "@berth/server/WebListener"
import { FetchHttpClient } from "@effect/platform"
import { Context, Duration, Effect, Layer, Logger, Option, Redacted, Ref } from "effect"
import { randomBytes } from "node:crypto"
import { cardEventSecret } from "./CardEvents.ts"
import { freePort } from "./FreePort.ts"
import { type HttpAnswer, type HttpCall, send } from "./HttpCall.ts"
import * as Mailbox from "./Mailbox.ts"
import { migratedDatabase } from "./MigratedDatabase.ts"
import { pageAssets, skillCatalogue, storedUser } from "./Samples.ts"
import * as ScriptedAgentManager from "./ScriptedAgentManager.ts"
import * as ScriptedJobQueue from "./ScriptedJobQueue.ts"
import * as InMemoryNetwork from "./payments/InMemoryNetwork.ts"
import { digests, recipient } from "./payments/PaidCalls.ts"
import * as ScriptedPlugins from "./ScriptedPlugins.ts"
import * as ScriptedModels from "./ScriptedModels.ts"

export interface WebAppOptions {
  /** Where the service believes that people reach it; by default where the web listener is. */
  readonly appUrl?: string
  /** What is not given is as in production. Calls come from a new address each, unless they say from which. */
  readonly limits?: Partial<Record<LimitName, Limit>>
  /** Whether the web listener calls the agent manager in its process, or over HTTP at the backend listener. */
  readonly managerIs?: "in process" | "remote"
  /** The same of the AI layer. */
  readonly modelsAre?: "in process" | "remote"
  readonly aiLayerIsPrivate?: boolean
  /** Password hashes that may wait; by default as many as usual. */
  readonly maxWaitingHashes?: number
  /** A migrated database; by default one of its own. */
  readonly databaseUrl?: Redacted.Redacted
  /** What is sealed in the database is sealed by it; servers over one database share it. By default one of its own. */
  readonly secretsKey?: Buffer
  /** How long what is in flight may take once a listener closes; a second when absent. */
  readonly drain?: Duration.Duration
  /** A node of the base network; by default there is none. */
  readonly baseRpcUrl?: string
  readonly gatingToken?: GatingToken
  /** Whether rights that hang on an e-mail need one that was confirmed, as in production. */
  readonly verifiedEmailsOnly?: boolean
  /** By default everybody passes. */
  readonly bots?: Layer.Layer<BotDetection>
  /** Whoever else says who somebody is; by default there is nobody. */
  readonly oauthA?: Partial<OAuthASettings>
  readonly oauthB?: Partial<OAuthBSettings>
  readonly socialIdentity?: Partial<SocialIdentitySettings>
  readonly providerTimeout?: Duration.Duration
  /** By default what the test says. */
  readonly speech?: Layer.Layer<Speech>
  /** What the card processor signs its events by; null for none, the one of the tests when absent. */
  readonly cardEventSecret?: string | null
  /** Who takes cards; by default nobody is set up. */
  readonly cards?: Layer.Layer<CardProcessor>
  /** Prices at the card processor that credits may be bought at. */
  readonly creditPrices?: ReadonlyMap<string, number>
  /** Who says whether somebody's own model key is good; by default everyone is. */
  readonly keyCheck?: Layer.Layer<KeyCheck>
}

/** A call with who makes it. */
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

/** Both listeners, as they are served, over a database of their own and a scripted agent manager and models. */
export class WebApp extends Context.Tag("@berth/test/WebApp")<
  WebApp,
  {
    readonly appUrl: URL
    readonly cookieName: string
    readonly internalKey: string
    readonly backendUrl: string
    readonly web: (call: AppCall) => Effect.Effect<HttpAnswer>
    readonly backend: (call: AppCall) => Effect.Effect<HttpAnswer>
    /** What the check of the database says from now on; it is up to begin with. */
    readonly setDatabaseUp: (up: boolean) => Effect.Effect<void>
    /** What the password hasher was asked for so far, in order. */
    readonly hashing: Effect.Effect<ReadonlyArray<keyof Context.Tag.Service<PasswordHasher>>>
    /** The chain on which machines pay. */
    readonly network: InMemoryNetwork.InMemoryNetwork
    /** Everything logged so far, a JSON text each. */
    readonly logged: Effect.Effect<ReadonlyArray<string>>
  }
>() {}

/** What a call of each plugin costs in every such service. */
export const prices = { agent: 0.05, "generate-text": 0.01, tts: 0.03, stt: 0.02 }

/** The administrator's address in every such service. */
export const adminEmail = "admin@example.com"

export const referralCredits = 3

/** Nobody listens there. Its path and query are what must be in no answer and no log. */
export const noNode = "http://127.0.0.1:1/v2/hunter2?key=hunter2"

const nobody = new URL("http://127.0.0.1:1/")
const nobodyA: OAuthASettings = { issuer: nobody, client: Option.none() }
const nobodyB: OAuthBSettings = {
  endpoints: { authorizeUrl: nobody, tokenUrl: nobody, userUrl: nobody, emailsUrl: nobody },
  client: Option.none()
}
const nobodySocial: SocialIdentitySettings = {
  jwksUrl: nobody,
  issuer: "https://social.example",
  audience: Option.none()
}

let callers = 0
/** An address that nobody in this process has called from. */
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

/** The real hasher, which says what it was asked for. */
const hasher = (
  asked: Ref.Ref<ReadonlyArray<keyof Context.Tag.Service<PasswordHasher>>>,
  { maxWaitingHashes }: WebAppOptions
) =>
  Layer.map(
    Argon2.layer({ maxConcurrent: 2, ...(maxWaitingHashes === undefined ? {} : { maxWaiting: maxWaitingHashes }) }),
    (context) => {
      const real = Context.get(context, PasswordHasher)
      const note = (method: keyof typeof real) => Ref.update(asked, (before) => [...before, method])
      return Context.make(PasswordHasher, {
        hash: (password) => Effect.zipRight(note("hash"), real.hash(password)),
        verify: (password, hash) => Effect.zipRight(note("verify"), real.verify(password, hash)),
        verifyNothing: (password) => Effect.zipRight(note("verifyNothing"), real.verifyNothing(password))
      })
    }
  )

const make = (options: WebAppOptions) =>
  Effect.gen(function* () {
    const databaseUrl = options.databaseUrl ?? (yield* migratedDatabase)
    const webPort = yield* freePort
    const backendPort = yield* Effect.repeat(freePort, { until: (port) => port !== webPort })
    const [webUrl, backendUrl] = [`http://127.0.0.1:${webPort}`, `http://127.0.0.1:${backendPort}`]
    const appUrl = new URL(options.appUrl ?? `http://localhost:${webPort}`)
    const internalKey = Redacted.make(randomBytes(32).toString("base64url"))
    const hashed = yield* Ref.make<ReadonlyArray<keyof Context.Tag.Service<PasswordHasher>>>([])
    const network = yield* InMemoryNetwork.make
    const databaseUp = yield* Ref.make(true)
    const lines: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make((line) => {
        lines.push(JSON.stringify(Logger.structuredLogger.log(line)))
      })
    )

    const storage = Storage.layer({
      databaseUrl,
      maxConnections: 10,
      applicationName: "test-server",
      keys: [{ id: "test", key: Redacted.make(options.secretsKey ?? randomBytes(32)) }],
      adminEmails: [adminEmail],
      verifiedAdminsOnly: options.verifiedEmailsOnly ?? false
    })
    const around = Layer.mergeAll(
      JoseAccessTokens.layer({
        key: yield* parseJwtKey(generateJwtKey()),
        issuer: appUrl.origin,
        audience: `${appUrl.origin}/api`
      }),
      Layer.succeed(WebSettings, {
        appUrl,
        agentsDomain: "agents.localhost",
        trustedProxies: proxyList(["127.0.0.1"]),
        serviceVersion: "1.2.3-test"
      }),
      Layer.succeed(Readiness, { checks: { database: Ref.get(databaseUp) } }),
      PostgresRateLimiter.layer({ url: databaseUrl, limits: { ...defaultLimits, ...options.limits } })
    )
    const accountRules = Layer.succeed(AccountRules, {
      referralCredits,
      walletEmailDomain: `wallet.${appUrl.hostname}`,
      socialEmailDomain: `social.${appUrl.hostname}`,
      appUrl,
      verifiedEmailsOnly: options.verifiedEmailsOnly ?? false
    })
    const rules = Layer.mergeAll(
      Layer.succeed(SkillCatalogue, skillCatalogue),
      Layer.succeed(PageAssets, pageAssets),
      Layer.succeed(PageSettings, { salesEmail: "sales@example.com" }),
      Chain.layer({
        appUrl,
        baseRpcUrl: Redacted.make(new URL(options.baseRpcUrl ?? noNode)),
        gatingToken: Option.fromNullable(options.gatingToken)
      }),
      Identity.layer({
        appUrl,
        oauthA: { ...nobodyA, ...options.oauthA },
        oauthB: { ...nobodyB, ...options.oauthB },
        socialIdentity: { ...nobodySocial, ...options.socialIdentity },
        timeout: options.providerTimeout ?? Duration.seconds(5)
      }),
      CardEventSignatures.layer(
        Option.map(
          Option.fromNullable(options.cardEventSecret === undefined ? cardEventSecret : options.cardEventSecret),
          (secret) => Redacted.make(secret)
        )
      ),
      Layer.succeed(CreditPrices, options.creditPrices ?? new Map()),
      options.keyCheck ?? Layer.succeed(KeyCheck, { check: () => Effect.void }),
      Layer.succeed(AgentModels, ["claude-opus-4-6", "gpt-4"]),
      accountRules,
      options.bots ?? NoBotDetection.layer,
      CommonPasswords.layer,
      hasher(hashed, options)
    )
    const privately = Layer.mergeAll(
      Layer.succeed(InternalKey, internalKey),
      Layer.succeed(AiLayerIsPrivate, options.aiLayerIsPrivate ?? false),
      Layer.succeed(MetricsText, Effect.sync(renderPrometheus))
    )
    const payments = Layer.mergeAll(
      Layer.succeed(PaymentChain, network.chain),
      Layer.succeed(PaymentDigests, digests),
      Layer.succeed(PaymentSettings, {
        realm: appUrl.host,
        chainId: network.chainId,
        currency: WalletAddress.make(network.token),
        recipient
      }),
      Layer.succeed(PluginPrices, prices)
    )
    const listening = (port: number) => ({ host: "127.0.0.1", port, drain: options.drain ?? Duration.seconds(1) })
    const remoteManager = AgentManagerClient.layer({ backendUrl, internalApiKey: internalKey }).pipe(
      Layer.provide(FetchHttpClient.layer)
    )
    const remoteAnswers = ModelAnswersClient.layer({ backendUrl, internalApiKey: internalKey }).pipe(
      Layer.provide(FetchHttpClient.layer)
    )
    const web = WebListener.layer(listening(webPort)).pipe(
      Layer.provide(UseCases.web),
      Layer.provide(Layer.mergeAll(rules, payments)),
      Layer.provide(options.modelsAre === "remote" ? remoteAnswers : UseCases.localAnswers)
    )
    const backend = BackendListener.layer(listening(backendPort)).pipe(
      Layer.provide(privately),
      Layer.provide(UseCases.backend),
      Layer.provide(Layer.succeed(LegacyModels, new Map()))
    )
    const app = Layer.succeed(WebApp, {
      appUrl,
      cookieName: sessionCookieName(appUrl),
      internalKey: Redacted.value(internalKey),
      backendUrl,
      web: (call) => send(webUrl, fill(call)),
      backend: (call) => send(backendUrl, fill(call)),
      setDatabaseUp: (up) => Ref.set(databaseUp, up),
      hashing: hashed,
      network,
      logged: Effect.sync(() => [...lines])
    })
    return app.pipe(
      Layer.provideMerge(options.managerIs === "remote" ? Layer.provide(web, remoteManager) : web),
      Layer.provideMerge(backend),
      Layer.provideMerge(options.speech ?? Layer.empty),
      Layer.provideMerge(
        Layer.mergeAll(ScriptedAgentManager.layer, ScriptedModels.layer, ScriptedPlugins.layer, ScriptedJobQueue.layer)
      ),
      Layer.provideMerge(Layer.provide(Mailbox.layer, accountRules)),
      Layer.provideMerge(options.cards ?? StripeCardProcessor.layerNotConfigured),
      Layer.provideMerge(UseCases.shared),
      Layer.provideMerge(around),
      Layer.provideMerge(storage),
      Layer.provide(logger),
      Layer.orDie
    )
  })

export const layer = (options: WebAppOptions = {}) => Layer.unwrapScoped(make(options))

/** A session for a user who is there. */
export const signIn = (user: User) =>
  Effect.gen(function* () {
    const { cookieName } = yield* WebApp
    const { token } = yield* (yield* Sessions).open(user.id)
    return { user, cookie: `${cookieName}=${Redacted.value(token)}` } satisfies SignedIn
  })

/** A new user with a session, and with a subscription when a plan is named. */
export const newcomer = (plan?: PlanId) =>
  Effect.gen(function* () {
    const { id } = yield* storedUser("guest")
    if (plan !== undefined) yield* (yield* SubscriptionRepository).save({ userId: id, plan, status: "active" })
    const user = yield* Effect.flatten((yield* UserRepository).find(id))
    return yield* signIn(user)
  })
