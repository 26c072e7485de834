import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { defaultLimits, type Limit, parseLimit } from "@berth/domain/limits/Limit"
import { parseSpeechModel, type SpeechModel, speechVendors } from "@berth/domain/gateway/speech/SpeechModel"
import { parseEmail } from "@berth/domain/shared/Email"
import { Array, Config, ConfigError, Duration, Either, Option, Redacted, Record } from "effect"
import { isIP } from "node:net"
import { homedir } from "node:os"
import { join } from "node:path"
import { providerUrls } from "../ai/ProviderUrls.ts"
import { parseKeyEncryptionKeys } from "../crypto/AesGcmSecretBox.ts"
import { parseJwtKey } from "../crypto/JwtKey.ts"
import { prefixedSecret, readCardSettings } from "./CardSettings.ts"
import { readCdpSettings } from "./CdpSettings.ts"
import {
  readGatingToken,
  readNodeUrl,
  readRpcUrl,
  readVerificationSettings,
  readWalletAddress
} from "./ChainSettings.ts"
import { readOAuthASettings, readOAuthBSettings, readSocialIdentitySettings } from "./SignInSettings.ts"
import {
  failWithAll,
  findGroupErrors,
  headerSecret,
  invalid,
  isWebUrl,
  optionalSecret,
  readList,
  readParsed
} from "./SettingReaders.ts"
import { telemetrySettings } from "./TelemetrySettings.ts"
import { isNetwork } from "../net/OutboundAddresses.ts"
import { logLevelSetting } from "./LogLevelSetting.ts"
import { readMailSender, readSmtpUrl } from "./MailSettings.ts"
import { defaultEngineSocket, parseEngineAddress } from "../instance-drivers/docker/EngineAddress.ts"
import { parseUidRange } from "../instance-drivers/process/UidAllocation.ts"

/*
 * All settings of the service with names and defaults, read once at start. Optional settings without a default are
 * generated in development (`GeneratedKeys`) and required in production (`productionFaults`).
 */

const isEmail = (text: string) => Option.isSome(parseEmail(text))
const text = (name: string, fallback: string) => Config.withDefault(Config.string(name), fallback)
const flags = { 1: true, true: true, yes: true, on: true, 0: false, false: false, no: false, off: false }
const flag = (name: string) => readParsed(name, (text) => Record.get(flags, text.toLowerCase()), "must be yes or no")
const port = (name: string, fallback: number) => Config.withDefault(Config.port(name), fallback)
const seconds = (name: string, fallback: number) =>
  Config.integer(name).pipe(
    Config.validate({ message: "must not be negative", validation: (value) => value >= 0 }),
    Config.withDefault(fallback)
  )
/** USD per call, at least one millionth. */
const price = (name: string, fallback: number) =>
  Config.number(name).pipe(
    Config.validate({
      message: "must be a number of US dollars from 0.000001 to 10000",
      validation: (value) => value >= 0.000001 && value <= 10_000
    }),
    Config.withDefault(fallback)
  )
const atLeast = (name: string, least: number, fallback: number) =>
  Config.number(name).pipe(
    Config.validate({ message: `must be a number of at least ${least}`, validation: (value) => value >= least }),
    Config.withDefault(fallback)
  )
const atLeastOne = (name: string) =>
  Config.integer(name).pipe(Config.validate({ message: "must be at least 1", validation: (value) => value >= 1 }))
const positive = (name: string, fallback: number) => Config.withDefault(atLeastOne(name), fallback)
const durationUnits = { s: Duration.seconds, m: Duration.minutes, h: Duration.hours }
/** Parses a positive integer with `s`, `m` or `h`. */
const parseDuration = (value: string) => {
  const [, count, unit] = /^([1-9]\d{0,5})([smh])$/.exec(value.trim()) ?? []
  return count !== undefined && (unit === "s" || unit === "m" || unit === "h")
    ? Either.right(durationUnits[unit](Number(count)))
    : Either.left(ConfigError.InvalidData([], "must be a whole number of s, m or h, for example 5m"))
}
const duration = (name: string, fallback: Duration.Duration) =>
  Config.withDefault(Config.mapOrFail(Config.string(name), parseDuration), fallback)
const minimumReservationRetention = Duration.days(2)
const webUrl = (name: string) =>
  Config.string(name).pipe(
    Config.validate({ message: "must be an http or https URL, for example https://example.com", validation: isWebUrl })
  )
const webAddress = (name: string) => Config.map(webUrl(name), (value) => new URL(value))
/** Reads scheme, host and port; links and cookies ignore the rest. */
const origin = (name: string) =>
  Config.string(name).pipe(
    Config.validate({
      message: "must be an http or https URL without a path, for example https://example.com",
      validation: (value) => isWebUrl(value) && new URL(value).href === `${new URL(value).origin}/`
    }),
    Config.map((value) => new URL(value))
  )
/** Reads the address of a store, which may contain a password; errors never contain it. */
const storeUrl = (name: string, ...schemes: readonly [string, ...ReadonlyArray<string>]) =>
  Config.redacted(name).pipe(
    Config.mapOrFail((secret) => {
      const value = Redacted.value(secret)
      return URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1))
        ? Either.right(secret)
        : Either.left(
            invalid(
              name,
              `must be a URL ${schemes[0]}://user:password@host:port/name, special characters percent-encoded`
            )
          )
    }),
    Config.option
  )
const host = (name: string, fallback: string) =>
  Config.string(name).pipe(
    Config.validate({
      message: "must be an IP address or a host name, without scheme and port",
      validation: (value) => isIP(value) !== 0 || isHostName(value)
    }),
    Config.withDefault(fallback)
  )
const isHostName = (value: string) => /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?$/.test(value)
/** Reads a value by a parser; errors never contain it. */
const parsedSecret = <A>(
  name: string,
  parse: (secret: Redacted.Redacted) => Either.Either<A, { readonly reason: string }>
) =>
  Config.redacted(name).pipe(
    Config.mapOrFail((secret) => Either.mapLeft(parse(secret), ({ reason }) => invalid(name, reason))),
    Config.option
  )

const isAddressOrRange = (entry: string) => {
  const [address = "", prefix, ...rest] = entry.split("/")
  const bits = isIP(address) === 6 ? 128 : 32
  return (
    isIP(address) !== 0 &&
    rest.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
  )
}

/** `LIMIT_<NAME>`. */
const limit = (fallback: Limit, name: string) =>
  Config.string(`LIMIT_${name.toUpperCase().replaceAll("-", "_")}`).pipe(
    Config.mapOrFail((value) => Either.mapLeft(parseLimit(value), ({ reason }) => ConfigError.InvalidData([], reason))),
    Config.withDefault(fallback)
  )

const provider = (prefix: string, baseUrl: string) =>
  Config.all({
    apiKey: Config.option(headerSecret(`${prefix}_API_KEY`)),
    baseUrl: Config.withDefault(webUrl(`${prefix}_BASE_URL`), baseUrl)
  })

export interface ProviderSettings {
  readonly apiKey: Option.Option<Redacted.Redacted>
  readonly baseUrl: string
}

const parseLegacyModel = (entry: string) => {
  const [, retired, successor] = /^([^=]+)=([^=]+)$/.exec(entry) ?? []
  return retired === undefined || successor === undefined
    ? Option.none()
    : Option.some([retired.trim(), successor.trim()] as const)
}

/** `provider/model`. */
const speechModel = (name: string, fallback: SpeechModel) =>
  Config.withDefault(
    readParsed(name, parseSpeechModel, `must be provider/model, where the provider is ${speechVendors.join(", ")}`),
    fallback
  )

/** First token of Tempo. */
const pathUsd = WalletAddress.make("0x20c0000000000000000000000000000000000000")

const environment = Config.withDefault(Config.literal("development", "production")("BERTH_ENV"), "development")

/** Empty for an IP address, which has no subdomains. */
const hostNameOf = ({ hostname }: URL) => (isIP(hostname.replace(/[[\]]/g, "")) === 0 ? hostname : "localhost")

const addresses = Config.all({
  host: host("HOST", "127.0.0.1"),
  port: port("PORT", 3000),
  appUrl: Config.option(origin("APP_URL")),
  backendHost: host("BACKEND_HOST", "127.0.0.1"),
  backendPort: port("BACKEND_PORT", 4000),
  backendUrl: Config.option(origin("BACKEND_URL")),
  agentsDomain: host("AGENTS_DOMAIN", "")
}).pipe(
  Config.map((values) => {
    const appUrl = orElseUrl(values.appUrl, `http://localhost:${values.port}`)
    return {
      ...values,
      appUrlIsSet: values.appUrl._tag === "Some",
      appUrl,
      backendUrl: orElseUrl(values.backendUrl, `http://localhost:${values.backendPort}`),
      agentsDomain: values.agentsDomain === "" ? `agents.${hostNameOf(appUrl)}` : values.agentsDomain
    }
  })
)

/** By default, instances sleep in production only. */
const instanceIdle = Config.all({
  environment,
  configured: Config.option(
    Config.mapOrFail(Config.string("INSTANCE_IDLE"), (value) =>
      value.trim().toLowerCase() === "off"
        ? Either.right(Option.none<Duration.Duration>())
        : Either.map(parseDuration(value), Option.some)
    )
  )
}).pipe(
  Config.map(({ environment, configured }) =>
    Option.getOrElse(configured, () =>
      environment === "production" ? Option.some(Duration.minutes(15)) : Option.none<Duration.Duration>()
    )
  )
)

const orElseUrl = (url: Option.Option<URL>, fallback: string) => (url._tag === "Some" ? url.value : new URL(fallback))

export const Settings = Config.all({
  environment,
  environmentIsSet: Config.map(Config.option(Config.string("BERTH_ENV")), ({ _tag }) => _tag === "Some"),
  addresses,
  role: Config.withDefault(Config.literal("web", "backend", "all")("SERVER_ROLE"), "all"),
  internalApiKey: Config.option(headerSecret("INTERNAL_API_KEY")),
  trustedProxies: Config.withDefault(
    readList(
      "TRUSTED_PROXIES",
      Option.liftPredicate(isAddressOrRange),
      "must be addresses or CIDR ranges, comma-separated"
    ),
    []
  ),
  outboundAllowCidrs: Config.withDefault(
    readList("OUTBOUND_ALLOW_CIDRS", Option.liftPredicate(isNetwork), "must be CIDR ranges, comma-separated"),
    []
  ),
  uploads: Config.all({
    minimumBytesPerSecond: positive("UPLOAD_MIN_BYTES_PER_SECOND", 10_000),
    perAddress: positive("UPLOADS_PER_ADDRESS", 4)
  }),
  drainSeconds: seconds("DRAIN_SECONDS", 30),
  streamRetention: duration("STREAM_RETENTION", Duration.minutes(5)),
  reservationRetention: Config.mapOrFail(duration("RESERVATION_RETENTION", Duration.days(400)), (retention) =>
    Duration.lessThan(retention, minimumReservationRetention)
      ? Either.left(invalid("RESERVATION_RETENTION", "must be at least 48h"))
      : Either.right(retention)
  ),
  modelUsageRetention: duration("MODEL_USAGE_RETENTION", Duration.days(400)),
  dataDir: text("DATA_DIR", ".data"),
  databaseUrl: storeUrl("DATABASE_URL", "postgres", "postgresql"),
  redisUrl: storeUrl("REDIS_URL", "redis", "rediss"),
  secretsKeys: parsedSecret("SECRETS_KEYS", parseKeyEncryptionKeys),
  jwtPrivateKey: parsedSecret("JWT_PRIVATE_KEY", parseJwtKey),
  adminEmails: Config.option(
    readList("ADMIN_EMAILS", Option.liftPredicate(isEmail), "must be email addresses, comma-separated")
  ),
  referralCredits: atLeast("REFERRAL_CREDITS", 0, 1),
  mail: Config.all({ smtpUrl: readSmtpUrl("SMTP_URL"), from: readMailSender("MAIL_FROM") }),
  bots: Config.all({
    detection: Config.option(Config.literal("off", "heuristic", "turnstile")("BOT_DETECTION")),
    turnstileSecret: optionalSecret("TURNSTILE_SECRET"),
    turnstileUrl: Config.withDefault(
      webAddress("TURNSTILE_URL"),
      new URL("https://challenges.cloudflare.com/turnstile/v0/siteverify")
    )
  }),
  limits: Config.all(Record.map(defaultLimits, limit)),
  providers: Config.all({
    openrouter: provider("OPENROUTER", providerUrls.openrouter),
    openai: provider("OPENAI", providerUrls.openai),
    anthropic: provider("ANTHROPIC", providerUrls.anthropic),
    google: provider("GOOGLE", providerUrls.google),
    groq: provider("GROQ", providerUrls.groq)
  }),
  oauthA: readOAuthASettings({
    issuer: "OAUTH_A_ISSUER",
    clientId: "OAUTH_A_CLIENT_ID",
    clientSecret: "OAUTH_A_CLIENT_SECRET",
    clientAuthentication: "OAUTH_A_CLIENT_AUTH"
  }),
  oauthB: readOAuthBSettings({
    authorizeUrl: "OAUTH_B_AUTHORIZE_URL",
    tokenUrl: "OAUTH_B_TOKEN_URL",
    userUrl: "OAUTH_B_USER_URL",
    emailsUrl: "OAUTH_B_EMAILS_URL",
    clientId: "OAUTH_B_CLIENT_ID",
    clientSecret: "OAUTH_B_CLIENT_SECRET",
    clientAuthentication: "OAUTH_B_CLIENT_AUTH"
  }),
  socialIdentity: readSocialIdentitySettings({
    jwksUrl: "SOCIAL_IDENTITY_JWKS_URL",
    issuer: "SOCIAL_IDENTITY_ISSUER",
    audience: "SOCIAL_IDENTITY_AUDIENCE"
  }),
  baseRpcUrl: readRpcUrl("BASE_RPC_URL", "https://mainnet.base.org"),
  baseSepoliaRpcUrl: readRpcUrl("BASE_SEPOLIA_RPC_URL", "https://sepolia.base.org"),
  cdp: readCdpSettings(
    {
      projectId: "CDP_PROJECT_ID",
      apiKeyId: "CDP_API_KEY_ID",
      apiKeySecret: "CDP_API_KEY_SECRET",
      walletSecret: "CDP_WALLET_SECRET"
    },
    Config.withDefault(webAddress("CDP_API_URL"), new URL("https://api.cdp.coinbase.com/platform"))
  ),
  ethereumRpcUrl: readRpcUrl("ETHEREUM_RPC_URL", "https://ethereum-rpc.publicnode.com"),
  verification: readVerificationSettings({
    easAddress: "EAS_ADDRESS",
    easSchemas: "EAS_SCHEMAS",
    easAttesters: "EAS_ATTESTERS",
    coinbaseIndexer: "COINBASE_INDEXER",
    coinbaseSchema: "COINBASE_SCHEMA",
    coinbaseAttester: "COINBASE_ATTESTER"
  }),
  cardProcessor: Config.all({
    secretKey: prefixedSecret("STRIPE_SECRET_KEY", "sk_", "rk_"),
    apiUrl: Config.withDefault(origin("STRIPE_API_URL"), new URL("https://api.stripe.com"))
  }),
  platforms: Config.all({
    platformA: Config.all({
      apiUrl: Config.withDefault(webAddress("PLATFORM_A_API_URL"), new URL("https://api.telegram.org"))
    }),
    platformB: Config.all({
      apiUrl: Config.withDefault(webAddress("PLATFORM_B_API_URL"), new URL("https://graph.facebook.com/v25.0")),
      appSecret: optionalSecret("PLATFORM_B_APP_SECRET"),
      verifyToken: optionalSecret("PLATFORM_B_VERIFY_TOKEN")
    }),
    platformC: Config.all({
      apiUrl: Config.withDefault(webAddress("PLATFORM_C_API_URL"), new URL("https://discord.com/api/v10"))
    })
  }),
  gatingToken: readGatingToken({
    address: "GATING_TOKEN_ADDRESS",
    symbol: "GATING_TOKEN_SYMBOL",
    minBalance: "GATING_MIN_BALANCE"
  }),
  mpp: Config.all({
    rpcUrl: Config.option(readNodeUrl("MPP_RPC_URL")),
    chainId: Config.option(atLeastOne("MPP_CHAIN_ID")),
    currency: Config.withDefault(readWalletAddress("MPP_CURRENCY"), pathUsd),
    recipient: Config.option(readWalletAddress("MPP_RECIPIENT")),
    secret: optionalSecret("MPP_SECRET")
  }),
  unclaimed: Config.all({
    lifetime: duration("UNCLAIMED_TTL", Duration.hours(24)),
    maximum: positive("UNCLAIMED_MAX", 500)
  }),
  mux: Config.all({
    token: Config.all({
      tokenId: Config.option(Config.string("MUX_TOKEN_ID")),
      tokenSecret: optionalSecret("MUX_TOKEN_SECRET")
    }).pipe(
      Config.mapOrFail(({ tokenId, tokenSecret }) => {
        const errors = findGroupErrors({ MUX_TOKEN_ID: tokenId, MUX_TOKEN_SECRET: tokenSecret })
        return Array.isNonEmptyReadonlyArray(errors)
          ? failWithAll(errors)
          : Either.right(Option.all({ tokenId, tokenSecret }))
      })
    ),
    apiUrl: Config.withDefault(webAddress("MUX_API_URL"), new URL("https://api.mux.com"))
  }),
  priceMargin: atLeast("PRICE_MARGIN", 1, 1.3),
  turnBudgetUsd: price("TURN_BUDGET_USD", 0.25),
  prices: Config.all({
    agent: price("PRICE_AGENT", 0.05),
    "generate-text": price("PRICE_GENERATE_TEXT", 0.01),
    tts: price("PRICE_TTS", 0.03),
    stt: price("PRICE_STT", 0.02)
  }),
  cards: readCardSettings({
    webhookSecret: "STRIPE_WEBHOOK_SECRET",
    plans: {
      solo: "STRIPE_PRICE_SOLO",
      collective: "STRIPE_PRICE_COLLECTIVE",
      label: "STRIPE_PRICE_LABEL",
      network: "STRIPE_PRICE_NETWORK",
      starter: "STRIPE_PRICE_STARTER",
      pro: "STRIPE_PRICE_PRO",
      scale: "STRIPE_PRICE_SCALE"
    },
    storage: "STRIPE_PRICE_STORAGE",
    credits: "STRIPE_CREDIT_PRICES"
  }),
  sandboxModel: Config.option(flag("SANDBOX_MODEL")),
  agentModels: Config.withDefault(
    readList(
      "AGENT_MODELS",
      Option.liftPredicate((id: string) => /^\S+$/.test(id)),
      "must be model ids, comma-separated"
    ),
    ["claude-opus-4-6", "gpt-4"]
  ),
  legacyModels: readList("LEGACY_MODELS", parseLegacyModel, "must be retired=successor, comma-separated").pipe(
    Config.map((models) => new Map(models)),
    Config.withDefault(new Map([["openrouter/google/gemini-2.0-flash-exp:free", "openrouter/openai/gpt-4o-mini"]]))
  ),
  speech: Config.all({
    tts: speechModel("TTS_MODEL", { provider: "openai", name: "tts-1" }),
    stt: speechModel("STT_MODEL", { provider: "openai", name: "whisper-1" })
  }),
  agentRuntime: Config.withDefault(Config.literal("process", "docker", "kubernetes")("AGENT_RUNTIME"), "process"),
  docker: Config.all({
    address: Config.all({
      host: text("DOCKER_HOST", `unix://${defaultEngineSocket}`),
      isVerified: Config.map(text("DOCKER_TLS_VERIFY", ""), (value) => value !== ""),
      certificates: text("DOCKER_CERT_PATH", join(homedir(), ".docker"))
    }).pipe(
      Config.mapOrFail(({ certificates, host, isVerified }) =>
        Either.mapLeft(parseEngineAddress(host, isVerified ? certificates : null), (reason) =>
          invalid("DOCKER_HOST", reason)
        )
      )
    ),
    network: text("DOCKER_NETWORK", "berth")
  }),
  kubernetes: Config.all({
    kubeconfig: Config.option(Config.nonEmptyString("KUBECONFIG")),
    namespace: Config.option(Config.nonEmptyString("KUBE_NAMESPACE"))
  }),
  runtimeImage: text("RUNTIME_IMAGE", "berth-runtime"),
  runtimeBackendUrl: Config.option(origin("RUNTIME_BACKEND_URL")),
  allowProcessRuntime: Config.withDefault(flag("ALLOW_PROCESS_RUNTIME"), false),
  instanceIdle,
  instanceUids: Config.option(
    readParsed("INSTANCE_UIDS", parseUidRange, "must be <first>-<last>, two user ids above 0")
  ),
  salesEmail: Config.withDefault(
    readParsed("SALES_EMAIL", Option.liftPredicate(isEmail), "must be an email address"),
    "sales@example.com"
  ),
  metrics: Config.all({
    host: host("METRICS_HOST", "127.0.0.1"),
    port: Config.option(Config.port("METRICS_PORT"))
  }),
  worker: Config.all({
    healthPort: Config.option(Config.port("WORKER_HEALTH_PORT")),
    tasksConcurrency: positive("WORKER_TASKS_CONCURRENCY", 5),
    provisionConcurrency: positive("WORKER_PROVISION_CONCURRENCY", 2),
    drainSeconds: seconds("WORKER_DRAIN_SECONDS", 300)
  }),
  log: Config.all({
    level: logLevelSetting,
    format: Config.option(Config.literal("json", "pretty")("LOG_FORMAT"))
  }),
  telemetry: telemetrySettings,
  /** Set by the supervisor: instances end with the server instead of running until its successor adopts them. */
  supervised: Config.withDefault(flag("BERTH_SUPERVISED"), false)
})
export type Settings = Config.Config.Success<typeof Settings>
