import type { Effect, Scope } from "effect"
import Provider, { type Configuration } from "oidc-provider"
import { startFakeServer } from "./FaultyServer.ts"

export interface OidcAccount {
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
}

interface OidcProviderOptions {
  /** Accounts by subject. */
  readonly accounts: Readonly<Record<string, OidcAccount>>
  readonly redirectUri: string
  /** Location of the email claims: the ID token, as at Google, or the userinfo endpoint, as in the standard. */
  readonly emailIsIn: "ID token" | "userinfo"
  readonly secretGoes: "client_secret_basic" | "client_secret_post"
}

export const oidcClient = { id: "berth-test", secret: "a secret: with/odd+characters&more" } as const

export const denyingAccount = "denies"

const configuration = (options: OidcProviderOptions): Configuration => ({
  clients: [
    {
      client_id: oidcClient.id,
      client_secret: oidcClient.secret,
      redirect_uris: [options.redirectUri],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: options.secretGoes
    }
  ],
  clientAuthMethods: [options.secretGoes],
  conformIdTokenClaims: options.emailIsIn === "userinfo",
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  cookies: { keys: ["a key of a test"] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_context, subject) => ({
    accountId: subject,
    claims: () => Promise.resolve({ sub: subject, ...options.accounts[subject] })
  }),
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  // Every account consents.
  loadExistingGrant: async (context) => {
    const { client, provider, session } = context.oidc
    const grant = new provider.Grant({
      ...(client === undefined ? {} : { clientId: client.clientId }),
      ...(session?.accountId === undefined ? {} : { accountId: session.accountId })
    })
    grant.addOIDCScope("openid email profile")
    await grant.save()
    return grant
  },
  pkce: { required: () => true }
})

/** An OpenID Connect provider: npm's oidc-provider. The browser header `x-account` selects the account. */
export const startOidcProvider = (options: OidcProviderOptions): Effect.Effect<URL, never, Scope.Scope> =>
  startFakeServer((origin) => {
    const provider = new Provider(origin.origin, configuration(options))
    const handle = provider.callback()
    return (request, response) => {
      if (request.url?.startsWith("/interaction/") !== true) {
        void handle(request, response)
        return
      }
      const account = String(request.headers["x-account"])
      const result =
        account === denyingAccount
          ? { error: "access_denied", error_description: "somebody said no" }
          : { login: { accountId: account } }
      void provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    }
  })
