import { Config, ConfigError, Either, Option, type Redacted } from "effect"
import type { CdpSettings } from "../cdp/CdpDeveloperWallets.ts"
import { parseApiKeySecret, parseWalletSecret } from "../cdp/CdpKeys.ts"

interface CdpNames {
  readonly projectId: string
  readonly apiKeyId: string
  readonly apiKeySecret: string
  readonly walletSecret: string
}

const optionalSecret = (name: string) => Config.option(Config.redacted(name))

/** The developer platform: all of its settings, or none. The problem of a secret never repeats it. */
export const readCdpSettings = (
  names: CdpNames,
  apiUrl: Config.Config<URL>
): Config.Config<Option.Option<CdpSettings>> =>
  Config.all({
    apiUrl,
    projectId: Config.option(Config.nonEmptyString(names.projectId)),
    apiKeyId: Config.option(Config.nonEmptyString(names.apiKeyId)),
    apiKeySecret: optionalSecret(names.apiKeySecret),
    walletSecret: optionalSecret(names.walletSecret)
  }).pipe(
    Config.mapOrFail(({ apiUrl, ...given }) => {
      if (Object.values(given).every((value) => Option.isNone<unknown>(value))) return Either.right(Option.none())
      return Either.gen(function* () {
        const required = <A>(name: keyof CdpNames, value: Option.Option<A>) =>
          Either.fromOption(value, () =>
            ConfigError.InvalidData([names[name]], "is missing; the developer platform needs all of its settings")
          )
        const invalid = (name: string) => (problem: { readonly reason: string }) =>
          ConfigError.InvalidData([name], problem.reason)
        const [projectId, apiKeyId] = [
          yield* required("projectId", given.projectId),
          yield* required("apiKeyId", given.apiKeyId)
        ]
        const apiKeySecret: Redacted.Redacted = yield* required("apiKeySecret", given.apiKeySecret)
        const walletSecret: Redacted.Redacted = yield* required("walletSecret", given.walletSecret)
        return Option.some({
          apiUrl,
          projectId,
          apiKeyId,
          apiKey: yield* Either.mapLeft(parseApiKeySecret(apiKeySecret), invalid(names.apiKeySecret)),
          walletKey: yield* Either.mapLeft(parseWalletSecret(walletSecret), invalid(names.walletSecret))
        })
      })
    })
  )
