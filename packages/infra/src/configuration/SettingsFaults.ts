import { Option, Redacted } from "effect"
import type { Settings } from "./Settings.ts"
import { resolveTempoNetwork } from "./TempoNetwork.ts"

/** Challenges show what a secret makes of known text, so a short one could be guessed. */
const minimumSecretLength = 16
/** UTF-8 bytes of secrets that authenticate, in production. */
const minimumProductionSecretBytes = 32

const isShort = (secret: Option.Option<Redacted.Redacted>) =>
  Option.isSome(secret) && new TextEncoder().encode(Redacted.value(secret.value)).length < minimumProductionSecretBytes

const loopback = new Set(["127.0.0.1", "::1", "localhost"])

/** Invalid combinations of settings, one message per variable. */
export const findSettingsFaults = (settings: Settings): ReadonlyArray<string> => {
  const { addresses, environment, environmentIsSet } = settings
  const isExposed = !loopback.has(addresses.host) || addresses.appUrl.protocol === "https:"
  const general = [
    fault(isExposed && !environmentIsSet, "BERTH_ENV must be set when HOST is not loopback or APP_URL is https"),
    fault(
      Option.contains(settings.bots.detection, "turnstile") && Option.isNone(settings.bots.turnstileSecret),
      "TURNSTILE_SECRET is missing, which BOT_DETECTION=turnstile needs"
    ),
    fault(settings.agentRuntime !== "process", "AGENT_RUNTIME: only process is built so far"),
    fault(
      resolveTempoNetwork(settings)._tag === "None",
      "MPP_RPC_URL is missing; there is a default for the chains 4217 and 42431 only"
    ),
    fault(
      settings.mpp.secret._tag === "Some" && Redacted.value(settings.mpp.secret.value).length < minimumSecretLength,
      `MPP_SECRET must have at least ${minimumSecretLength} characters`
    )
  ]
  const production =
    environment === "production"
      ? [
          fault(settings.internalApiKey._tag === "None", "INTERNAL_API_KEY is required in production"),
          fault(settings.secretsKeys._tag === "None", "SECRETS_KEYS is required in production"),
          fault(settings.jwtPrivateKey._tag === "None", "JWT_PRIVATE_KEY is required in production"),
          fault(settings.databaseUrl._tag === "None", "DATABASE_URL is required in production"),
          fault(
            settings.mail.smtpUrl._tag === "None",
            "SMTP_URL is required in production: mail to disk reaches nobody"
          ),
          fault(settings.mpp.recipient._tag === "None", "MPP_RECIPIENT is required in production"),
          fault(settings.mpp.secret._tag === "None", "MPP_SECRET is required in production"),
          fault(
            isShort(settings.mpp.secret),
            `MPP_SECRET must have at least ${minimumProductionSecretBytes} bytes in production`
          ),
          fault(
            isShort(settings.internalApiKey),
            `INTERNAL_API_KEY must have at least ${minimumProductionSecretBytes} bytes in production`
          ),
          fault(
            settings.cardProcessor.secretKey._tag === "Some" && settings.cards.webhookSecret._tag === "None",
            "STRIPE_WEBHOOK_SECRET is missing, without which nothing that is paid arrives"
          ),
          fault(!addresses.appUrlIsSet, "APP_URL is required in production"),
          fault(
            addresses.appUrl.protocol !== "https:" && !loopback.has(addresses.appUrl.hostname),
            "APP_URL must be https in production, or sessions travel in an insecure cookie"
          ),
          fault(
            settings.sandboxModel._tag === "Some" && settings.sandboxModel.value,
            "SANDBOX_MODEL is refused in production"
          ),
          fault(
            settings.agentRuntime === "process" && !settings.allowProcessRuntime,
            "AGENT_RUNTIME=process needs ALLOW_PROCESS_RUNTIME=yes in production: only containers isolate fully"
          )
        ]
      : []
  return [...general, ...production].flat()
}

const fault = (isSo: boolean, sentence: string): ReadonlyArray<string> => (isSo ? [sentence] : [])
