import { Array, Config, Either, Option, Record } from "effect"
import type { CdpSettings } from "../cdp/CdpDeveloperWallets.ts"
import { parseApiKeySecret, parseWalletSecret } from "../cdp/CdpKeys.ts"
import { failWithAll, findGroupErrors, invalid, optionalSecret } from "./SettingReaders.ts"

interface CdpNames {
  readonly projectId: string
  readonly apiKeyId: string
  readonly apiKeySecret: string
  readonly walletSecret: string
}

/** Reads the settings of the developer platform: all or none. Errors never contain a secret. */
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
    Config.mapOrFail(({ apiUrl, ...credentials }) => {
      const keys = Option.all({
        apiKey: Option.map(credentials.apiKeySecret, (secret) =>
          Either.mapLeft(parseApiKeySecret(secret), ({ reason }) => invalid(names.apiKeySecret, reason))
        ),
        walletKey: Option.map(credentials.walletSecret, (secret) =>
          Either.mapLeft(parseWalletSecret(secret), ({ reason }) => invalid(names.walletSecret, reason))
        )
      })
      const errors = [
        ...findGroupErrors(Record.mapEntries(names, (name, key) => [name, credentials[key]])),
        ...(Option.isNone(keys) ? [] : Array.getLefts([keys.value.apiKey, keys.value.walletKey]))
      ]
      if (Array.isNonEmptyReadonlyArray(errors)) return failWithAll(errors)
      return Option.all({ projectId: credentials.projectId, apiKeyId: credentials.apiKeyId, keys }).pipe(
        Option.map(({ apiKeyId, keys, projectId }) =>
          Either.map(Either.all(keys), (parsed) => ({ apiUrl, projectId, apiKeyId, ...parsed }))
        ),
        Option.match({ onNone: () => Either.right(Option.none()), onSome: Either.map(Option.some) })
      )
    })
  )
