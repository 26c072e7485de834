import { Context, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import type { WebAuthnCredential } from "./WebAuthnCredential.ts"

/** Authenticators that an owner registered for an agent. */
export class WebAuthnCredentialRepository extends Context.Tag("@berth/WebAuthnCredentialRepository")<
  WebAuthnCredentialRepository,
  {
    readonly listIds: (ownerId: UserId, agentId: AgentId) => Effect.Effect<ReadonlyArray<string>>
    readonly find: (ownerId: UserId, agentId: AgentId, id: string) => Effect.Effect<Option.Option<WebAuthnCredential>>
    /** False if the id is already registered, for any agent. */
    readonly insert: (ownerId: UserId, agentId: AgentId, credential: WebAuthnCredential) => Effect.Effect<boolean>
    /** Compare-and-set: false if the stored counter differs from that of `credential`. */
    readonly setCounter: (credential: WebAuthnCredential, counter: number) => Effect.Effect<boolean>
    readonly removeAll: (ownerId: UserId, agentId: AgentId) => Effect.Effect<void>
  }
>() {}
