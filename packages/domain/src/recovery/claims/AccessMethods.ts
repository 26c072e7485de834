import { Context, Effect, Layer } from "effect"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import type { UserId } from "../../shared/User.ts"
import { Wallets } from "../../signin/wallets/Wallets.ts"
import { Instances } from "../../instances/Instances.ts"
import { credentialKeys } from "../../secrets/Credential.ts"
import { CredentialVault } from "../../secrets/CredentialVault.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { LinkedIdentities } from "../../signin/identities/LinkedIdentities.ts"

/** What lets somebody into an account, and how it is shut for good. */
export interface AccessMethod {
  readonly name: string
  /** Joins a transaction. Whoever came by this way is out once it has ended. */
  readonly revoke: (userId: UserId) => Effect.Effect<void>
}

/** Every way into an account that there is, in the order in which they are shut. */
export class AccessMethods extends Context.Tag("@berth/AccessMethods")<AccessMethods, ReadonlyArray<AccessMethod>>() {}

/** The list: whoever adds a way into accounts adds it here. */
export const layer = Layer.effect(
  AccessMethods,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const credentials = yield* PasswordCredentials
    const wallets = yield* Wallets
    const linked = yield* LinkedIdentities
    const instances = yield* Instances
    const vault = yield* CredentialVault
    return [
      // First: a way that a session is just adding is there, to be shut too, once that session's end has been waited for.
      { name: "sessions", revoke: (userId) => Effect.asVoid(sessions.revokeAll(userId)) },
      { name: "password", revoke: credentials.removePassword },
      { name: "mailed links", revoke: credentials.revokeResetLinks },
      { name: "wallets", revoke: wallets.unlinkAll },
      { name: "identities", revoke: linked.unlinkAll },
      { name: "gateway token", revoke: instances.revokeGatewayToken },
      // By a bot of his he would talk with the agent, and whose key a model call goes by reads it at the provider.
      { name: "stored keys", revoke: (userId) => vault.remove(userId, credentialKeys) },
      // Last again: those that were just being opened by a way that had to be waited for.
      { name: "new sessions", revoke: (userId) => Effect.asVoid(sessions.revokeAll(userId)) }
    ]
  })
)
