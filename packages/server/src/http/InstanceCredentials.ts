import { GatewayTokenAccess } from "@berth/domain/instances/GatewayTokenAccess"
import { Instances } from "@berth/domain/instances/Instances"
import { InstanceSignIn } from "@berth/domain/instances/InstanceSignIn"
import type { GatewayTokenProof } from "@berth/domain/sessions/Principal"
import type { User } from "@berth/domain/shared/User"
import type { HttpServerRequest } from "@effect/platform"
import { Effect, Option, type Redacted } from "effect"
import { makeInstanceCookie } from "./SecretCookies.ts"
import { WebSettings } from "./WebSettings.ts"

/** Credentials that only an instance's subdomain accepts, and its ownership. */
export class InstanceCredentials extends Effect.Service<InstanceCredentials>()("@berth/InstanceCredentials", {
  effect: Effect.gen(function* () {
    const instances = yield* Instances
    const gatewayTokens = yield* GatewayTokenAccess
    const signIn = yield* InstanceSignIn
    const { appUrl } = yield* WebSettings
    const cookie = makeInstanceCookie(appUrl)

    return {
      /** Returns the user of a gateway token. */
      findByToken: (token: Redacted.Redacted, subdomain: string) =>
        Effect.map(gatewayTokens.authenticateSubdomain(subdomain, token), (found) =>
          Option.map(found, ({ mark, user }) => ({ user, proof: { by: "token", mark } satisfies GatewayTokenProof }))
        ),
      /** Returns session and user of the cookie. */
      findByCookie: (request: HttpServerRequest.HttpServerRequest, subdomain: string) =>
        Effect.map(
          Effect.transposeMapOption(cookie.read(request), (value) => signIn.authenticate(subdomain, value)),
          Option.flatten
        ),
      isOwner: (user: User, subdomain: string) =>
        Effect.match(instances.find(user.id), {
          onFailure: () => false,
          onSuccess: (instance) => instance.subdomain === subdomain
        })
    }
  })
}) {}
