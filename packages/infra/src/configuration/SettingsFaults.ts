import { Option, Redacted } from "effect"
import { isLoopback, isWildcard } from "../net/ListenHosts.ts"
import type { Settings } from "./Settings.ts"
import { resolveTempoNetwork } from "./TempoNetwork.ts"

/** Programs with settings; the supervisor provides a database and runs a server and a worker. */
export type ProgramKind = "supervisor" | "server" | "worker"

/** Shorter secrets can be guessed. */
const minimumSecretLength = 16
/** Minimum UTF-8 bytes of authentication secrets in production. */
const minimumProductionSecretBytes = 32

const isShort = (secret: Option.Option<Redacted.Redacted>) =>
  Option.isSome(secret) && new TextEncoder().encode(Redacted.value(secret.value)).length < minimumProductionSecretBytes

const fault = (isSo: boolean, sentence: string): ReadonlyArray<string> => (isSo ? [sentence] : [])

/** Finds listeners of a process or a supervisor with conflicting ports. */
const findPortFaults = (
  { addresses: { backendHost, backendPort, host, port }, role, worker }: Settings,
  program: ProgramKind
) => {
  const overlap = (a: string, b: string) => a === b || isWildcard(a) || isWildcard(b)
  const runsAll = program === "supervisor"
  const healthPort = Option.getOrUndefined(worker.healthPort)
  return [
    fault(
      (runsAll || (program === "server" && role === "all")) && port === backendPort && overlap(host, backendHost),
      `BACKEND_PORT: is ${port} like PORT; choose two different ports`
    ),
    fault(
      runsAll && (healthPort === port || (healthPort === backendPort && overlap(host, backendHost))),
      `WORKER_HEALTH_PORT: is ${healthPort} like PORT or BACKEND_PORT; choose another port`
    )
  ]
}

/** Requires a digest, since a moved tag would change the program of instances. */
const isDigest = (image: string) => /@sha256:[0-9a-f]{64}$/.test(image)

const findKubernetesFaults = ({
  addresses: { backendPort, port },
  environment,
  runtimeBackendUrl,
  runtimeImage
}: Settings) => {
  const listens = Option.map(runtimeBackendUrl, (url) => Number(url.port === "" ? 80 : url.port))
  return [
    fault(
      Option.isNone(runtimeBackendUrl),
      "RUNTIME_BACKEND_URL: is required with AGENT_RUNTIME=kubernetes; set the address of the backend's runtime routes as pods reach it, for example http://berth-backend.berth.svc:4001"
    ),
    fault(
      Option.exists(listens, (chosen) => chosen === backendPort || chosen === port),
      "RUNTIME_BACKEND_URL: must have another port than PORT and BACKEND_PORT with AGENT_RUNTIME=kubernetes, because its listener serves the runtime routes alone"
    ),
    fault(
      environment === "production" && !isDigest(runtimeImage),
      "RUNTIME_IMAGE: must end with a digest (@sha256:...) in production with AGENT_RUNTIME=kubernetes, so that instances keep the version that they were accepted with"
    )
  ]
}

const findProductionFaults = (settings: Settings, program: ProgramKind) => {
  const { addresses, mpp } = settings
  const required = (name: string, value: Option.Option<unknown>, expected: string) =>
    fault(Option.isNone(value), `${name}: is required in production; ${expected}`)
  const long = (name: string, value: Option.Option<Redacted.Redacted>) =>
    fault(isShort(value), `${name}: must have at least ${minimumProductionSecretBytes} bytes in production`)
  return [
    fault(
      !addresses.appUrlIsSet,
      "APP_URL: is required in production; set the public https URL, for example https://berth.example.com"
    ),
    fault(
      addresses.appUrl.protocol !== "https:" && !isLoopback(addresses.appUrl.hostname),
      "APP_URL: must be https in production, because sessions travel in a cookie"
    ),
    ...(program === "supervisor"
      ? []
      : [required("DATABASE_URL", settings.databaseUrl, "set the URL of a PostgreSQL database")]),
    required("INTERNAL_API_KEY", settings.internalApiKey, "set 32 random bytes, equal in web, backend and worker"),
    long("INTERNAL_API_KEY", settings.internalApiKey),
    required("SECRETS_KEYS", settings.secretsKeys, "set id:base64 of 32 random bytes"),
    required("JWT_PRIVATE_KEY", settings.jwtPrivateKey, "set an Ed25519 key in PKCS8 PEM"),
    required("SMTP_URL", settings.mail.smtpUrl, "set smtp:// or smtps:// with user and password"),
    fault(
      Option.isSome(mpp.recipient) && Option.isNone(mpp.secret),
      "MPP_SECRET: is required in production with MPP_RECIPIENT; set 32 random bytes"
    ),
    long("MPP_SECRET", mpp.secret),
    fault(
      Option.isSome(settings.cardProcessor.secretKey) && Option.isNone(settings.cards.webhookSecret),
      "STRIPE_WEBHOOK_SECRET: is missing; without it no card payment is credited"
    ),
    fault(
      Option.contains(settings.sandboxModel, true),
      "SANDBOX_MODEL: is refused in production; set the key of a model provider"
    ),
    fault(
      settings.agentRuntime === "process" && !settings.allowProcessRuntime,
      "ALLOW_PROCESS_RUNTIME: must be yes in production with AGENT_RUNTIME=process, because only containers isolate fully"
    )
  ]
}

/** Finds invalid combinations of settings: `NAME: problem; expectation`, one per variable. */
export const findSettingsFaults = (settings: Settings, program: ProgramKind): ReadonlyArray<string> => {
  const { addresses, environment, environmentIsSet, mpp } = settings
  const isExposed = !isLoopback(addresses.host) || addresses.appUrl.protocol === "https:"
  return [
    fault(
      isExposed && !environmentIsSet,
      "BERTH_ENV: must be set to production or development when HOST is not loopback or APP_URL is https"
    ),
    fault(
      Option.contains(settings.bots.detection, "turnstile") && Option.isNone(settings.bots.turnstileSecret),
      "TURNSTILE_SECRET: is missing; BOT_DETECTION=turnstile needs it"
    ),
    ...(settings.agentRuntime === "kubernetes" && program !== "worker" && settings.role !== "web"
      ? findKubernetesFaults(settings)
      : []),
    fault(
      settings.agentRuntime === "docker" && isWildcard(addresses.backendHost),
      "BACKEND_HOST: must be one address with AGENT_RUNTIME=docker, or instances could reach the whole backend API"
    ),
    fault(
      Option.isNone(resolveTempoNetwork(settings)),
      "MPP_RPC_URL: is missing; there is a default for the chains 4217 and 42431 only"
    ),
    fault(
      Option.exists(mpp.secret, (secret) => Redacted.value(secret).length < minimumSecretLength),
      `MPP_SECRET: must have at least ${minimumSecretLength} characters`
    ),
    fault(
      Option.exists(settings.internalApiKey, (key) => Redacted.value(key).length < minimumSecretLength),
      `INTERNAL_API_KEY: must have at least ${minimumSecretLength} characters`
    ),
    ...findPortFaults(settings, program),
    ...(environment === "production" ? findProductionFaults(settings, program) : [])
  ].flat()
}
