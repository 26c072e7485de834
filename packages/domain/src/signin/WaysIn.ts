import { Context, Effect, Layer } from "effect"
import { Credentials } from "../accounts/Credentials.ts"
import type { UserId } from "../accounts/User.ts"
import { Wallets } from "../accounts/Wallets.ts"
import { Instances } from "../instances/Instances.ts"
import { credentialKeys } from "../secrets/Credential.ts"
import { CredentialVault } from "../secrets/CredentialVault.ts"
import { Sessions } from "../sessions/Sessions.ts"
import { LinkedIdentities } from "./LinkedIdentities.ts"

/** What lets somebody into an account, and how it is shut for good. */
export interface WayIn {
  readonly name: string
  /** Joins a transaction. Whoever came by this way is out once it has ended. */
  readonly shut: (userId: UserId) => Effect.Effect<void>
}

/** Every way into an account that there is, in the order in which they are shut. */
export class WaysIn extends Context.Tag("@berth/WaysIn")<WaysIn, ReadonlyArray<WayIn>>() {}

/** The list: whoever adds a way into accounts adds it here. */
export const layer = Layer.effect(
  WaysIn,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const credentials = yield* Credentials
    const wallets = yield* Wallets
    const linked = yield* LinkedIdentities
    const instances = yield* Instances
    const vault = yield* CredentialVault
    return [
      // First: a way that a session is just adding is there, to be shut too, once that session's end has been waited for.
      { name: "sessions", shut: (userId) => Effect.asVoid(sessions.closeAll(userId)) },
      { name: "password", shut: credentials.forget },
      { name: "mailed links", shut: credentials.forgetLinks },
      { name: "wallets", shut: wallets.unlinkAll },
      { name: "identities", shut: linked.unlinkAll },
      { name: "gateway token", shut: instances.forgetGatewayToken },
      // By a bot of his he would talk with the agent, and whose key a model call goes by reads it at the provider.
      { name: "stored keys", shut: (userId) => vault.forget(userId, credentialKeys) },
      // Last again: those that were just being opened by a way that had to be waited for.
      { name: "new sessions", shut: (userId) => Effect.asVoid(sessions.closeAll(userId)) }
    ]
  })
)
