import { Context, Effect, Either } from "effect"
import type { User } from "../shared/User.ts"
import { type ApiKeyId, type ApiKeyScope, ScopeMissing } from "./ApiKeyScope.ts"
import type { SessionId } from "./Session.ts"

export interface ApiKeyProof {
  readonly by: "api-key"
  readonly id: ApiKeyId
  readonly scopes: ReadonlyArray<ApiKeyScope>
}

/** The gateway token of the user's instance; `mark` changes with it. */
export interface GatewayTokenProof {
  readonly by: "token"
  readonly mark: string
}

const gatewayTokenScopes: ReadonlyArray<ApiKeyScope> = ["chat"]

/** The credential that authenticated a request. An access token counts as its session. */
export type RequestProof = { readonly by: "session"; readonly id: SessionId } | ApiKeyProof | GatewayTokenProof

/** The authenticated caller of the current request, by a session or by an API key with the scope of the route. */
export class Principal extends Context.Tag("@berth/Principal")<
  Principal,
  { readonly user: User; readonly proof: RequestProof }
>() {}

/** Requires a scope of an API key or a gateway token; sessions have every scope. */
export const requireScope = (
  { proof }: Pick<Principal["Type"], "proof">,
  scope: ApiKeyScope
): Either.Either<void, ScopeMissing> =>
  proof.by === "session" || (proof.by === "api-key" ? proof.scopes : gatewayTokenScopes).includes(scope)
    ? Either.void
    : Either.left(new ScopeMissing({ required: scope }))

/** Returns the principal, for actions that require another scope than their route. */
export const principalWithScope = (scope: ApiKeyScope) =>
  Effect.tap(Principal, (principal) => requireScope(principal, scope))
