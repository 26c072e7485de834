import { Array, Config, Either, Option, type Redacted } from "effect"
import { isSecureUrl, type OAuthClientAuthentication } from "../oauth/ProviderFetch.ts"
import { failWithAll, findGroupErrors, readParsed } from "./SettingReaders.ts"

/* Readers of the identity provider settings; `Settings` defines their names. */

/** Secrets and codes are sent only over TLS or to loopback. */
const providerUrl = (name: string, fallback: string): Config.Config<URL> =>
  readParsed(
    name,
    (text) => (URL.canParse(text) ? Option.liftPredicate(new URL(text), isSecureUrl) : Option.none()),
    "must be an https URL, or an http URL of this machine"
  ).pipe(Config.withDefault(new URL(fallback)))

interface OAuthClientSettings {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

interface ClientNames {
  readonly clientId: string
  readonly clientSecret: string
}

/** Client id and secret; one without the other is a configuration error. */
const client = (names: ClientNames): Config.Config<Option.Option<OAuthClientSettings>> =>
  Config.all({
    clientId: Config.option(Config.string(names.clientId)),
    clientSecret: Config.option(Config.redacted(names.clientSecret))
  }).pipe(
    Config.mapOrFail((values) => {
      const errors = findGroupErrors({ [names.clientId]: values.clientId, [names.clientSecret]: values.clientSecret })
      return Array.isNonEmptyReadonlyArray(errors) ? failWithAll(errors) : Either.right(Option.all(values))
    })
  )

const clientAuthentication = (name: string, fallback: OAuthClientAuthentication) =>
  Config.literal("client_secret_basic", "client_secret_post")(name).pipe(Config.withDefault(fallback))

export const readOAuthASettings = (
  names: ClientNames & { readonly issuer: string; readonly clientAuthentication: string }
) =>
  Config.all({
    issuer: providerUrl(names.issuer, "https://accounts.google.com"),
    clientAuthentication: clientAuthentication(names.clientAuthentication, "client_secret_basic"),
    client: client(names)
  })
export type OAuthASettings = Config.Config.Success<ReturnType<typeof readOAuthASettings>>

export const readOAuthBSettings = (
  names: ClientNames & {
    readonly authorizeUrl: string
    readonly tokenUrl: string
    readonly userUrl: string
    readonly emailsUrl: string
    readonly clientAuthentication: string
  }
) =>
  Config.all({
    endpoints: Config.all({
      authorizeUrl: providerUrl(names.authorizeUrl, "https://github.com/login/oauth/authorize"),
      tokenUrl: providerUrl(names.tokenUrl, "https://github.com/login/oauth/access_token"),
      userUrl: providerUrl(names.userUrl, "https://api.github.com/user"),
      emailsUrl: providerUrl(names.emailsUrl, "https://api.github.com/user/emails")
    }),
    clientAuthentication: clientAuthentication(names.clientAuthentication, "client_secret_post"),
    client: client(names)
  })
export type OAuthBSettings = Config.Config.Success<ReturnType<typeof readOAuthBSettings>>

export const readSocialIdentitySettings = (names: {
  readonly jwksUrl: string
  readonly issuer: string
  readonly audience: string
}) =>
  Config.all({
    jwksUrl: providerUrl(names.jwksUrl, "https://auth.farcaster.xyz/.well-known/jwks.json"),
    issuer: Config.withDefault(Config.string(names.issuer), "https://auth.farcaster.xyz"),
    /** Default: the host of `APP_URL`. */
    audience: Config.option(Config.string(names.audience))
  })
export type SocialIdentitySettings = Config.Config.Success<ReturnType<typeof readSocialIdentitySettings>>
