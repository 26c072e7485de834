import { requestErrors } from "@berth/api/http/RequestErrors"
import { BearerAuth } from "@berth/api/sessions/BearerAuth"
import { ApiKeys } from "@berth/domain/accounts/api-keys/ApiKeys"
import { AccessTokens } from "@berth/domain/sessions/AccessTokens"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { Principal } from "@berth/domain/sessions/Principal"
import { SessionId } from "@berth/domain/sessions/Session"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { CredentialWatch } from "@berth/server/http/CredentialWatch"
import { InstanceCredentials } from "@berth/server/http/InstanceCredentials"
import { RequestCredentials } from "@berth/server/http/RequestCredentials"
import { sessionCookieLayer } from "@berth/server/http/SecretCookies"
import * as BearerAuthHttp from "@berth/server/sessions/BearerAuthHttp"
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpClient,
  HttpClientRequest,
  HttpLayerRouter
} from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { createLocalJWKSet, jwtVerify } from "jose"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"

/** An API with one endpoint that returns the owner of an access token. */
class Probe extends HttpApi.make("probe").add(
  HttpApiGroup.make("probe").add(
    HttpApiEndpoint.get("whoami", "/whoami")
      .addSuccess(Schema.Struct({ userId: Schema.String, sessionId: Schema.String }))
      .middleware(BearerAuth)
  )
) {
  static override readonly errorSchema = requestErrors
}
const probe = HttpLayerRouter.serve(
  HttpLayerRouter.addHttpApi(Probe).pipe(
    Layer.provide(
      HttpApiBuilder.group(Probe, "probe", (handlers) =>
        handlers.handle("whoami", () =>
          Effect.map(Principal, ({ proof, user }) => ({
            userId: user.id,
            sessionId: proof.by === "session" ? proof.id : "none"
          }))
        )
      )
    ),
    Layer.provide(BearerAuthHttp.layer)
  ),
  { disableLogger: true, disableListenLog: true }
).pipe(
  Layer.provideMerge(NodeHttpServer.layerTest),
  Layer.provide(RequestCredentials.Default),
  Layer.provide(Layer.mock(ApiKeys, { _tag: "@berth/ApiKeys" })),
  Layer.provide(Layer.mock(InstanceCredentials, { _tag: "@berth/InstanceCredentials" })),
  Layer.provide(
    Layer.mock(CredentialWatch, {
      _tag: "@berth/CredentialWatch",
      watch: () => () => Effect.void,
      revalidate: Effect.void
    })
  ),
  Layer.provide(sessionCookieLayer),
  Layer.provide(BearerSessions.Default),
  Layer.provideMerge(App.shared)
)

const Issued = Schema.Struct({ token: Schema.String, expiresAt: Schema.DateTimeUtc })
const tokenOf = (as: App.SignedIn) =>
  Effect.gen(function* () {
    const answer = yield* App.web({ method: "POST", path: "/api/auth/token", as })
    assert.strictEqual(answer.status, 200, answer.text)
    return { ...(yield* Schema.decodeUnknown(Issued)(answer.body)), answer }
  })

const ask = (authorization?: string) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const request = HttpClientRequest.get("/whoami")
    const response = yield* client.execute(
      authorization === undefined ? request : HttpClientRequest.setHeader(request, "authorization", authorization)
    )
    const body: unknown = yield* response.json
    return { status: response.status, body, wanted: response.headers["www-authenticate"] }
  })
const statusOf = (token: string) => Effect.map(ask(`Bearer ${token}`), ({ status }) => status)

layer(probe, { excludeTestServices: true })("An access token", (it) => {
  it.effect("An access token is issued for a session with no-store and verifies with the published keys", () =>
    Effect.gen(function* () {
      const { appUrl, logLines } = yield* App.TestApp
      const me = yield* App.signInNewUser()
      const { answer, expiresAt, token } = yield* tokenOf(me)
      assert.strictEqual(answer.headers["cache-control"], "no-store")
      const left = DateTime.distance(yield* DateTime.now, expiresAt)
      assert.isTrue(left > 14 * 60_000 && left <= 15 * 60_000, String(left))
      const published = yield* App.web({ method: "GET", path: "/.well-known/jwks.json" })
      assert.strictEqual(published.headers["cache-control"], "public, max-age=300")
      const { keys } = yield* Schema.decodeUnknown(
        Schema.Struct({
          keys: Schema.mutable(
            Schema.Array(Schema.mutable(Schema.Record({ key: Schema.String, value: Schema.String })))
          )
        })
      )(published.body)
      assert.isTrue(keys.every((key) => !("d" in key)))
      const { payload } = yield* Effect.promise(() =>
        jwtVerify(token, createLocalJWKSet({ keys: keys.map(({ kty = "", ...rest }) => ({ kty, ...rest })) }), {
          issuer: appUrl.origin,
          audience: `${appUrl.origin}/api`,
          typ: "at+jwt",
          algorithms: ["EdDSA"]
        })
      )
      assert.strictEqual(payload.sub, me.user.id)
      assert.isTrue(String(payload["sid"]).startsWith("ses_"))
      assert.notInclude((yield* logLines).join("\n"), token)
    })
  )

  it.effect("An access token authenticates with the Bearer scheme in any case, and with no other scheme", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const { token } = yield* tokenOf(me)
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        const { body, status } = yield* ask(`${scheme} ${token}`)
        assert.strictEqual(status, 200)
        assert.deepInclude(body, { userId: me.user.id })
      }
      for (const wrong of [undefined, "", token, `Basic ${token}`, `XXXXXX ${token}`, `Payment ${token}`]) {
        const { body, status, wanted } = yield* ask(wrong)
        assert.deepStrictEqual([status, wanted], [401, 'Bearer realm="berth"'], wrong)
        assert.deepInclude(body, { code: "access_token_required", error: "Unauthorized" })
      }
      for (const wrong of [
        `Bearer ${token}x`,
        `Bearer ${token.slice(0, -4)}`,
        `Bearer ${token} x`,
        "Bearer a.b.c",
        "Bearer",
        "Bearer "
      ]) {
        const { status, wanted } = yield* ask(wrong)
        assert.deepStrictEqual([status, wanted], [401, 'Bearer realm="berth", error="invalid_token"'], wrong)
      }
      assert.strictEqual((yield* ask(`Bearer ${me.cookie.split("=")[1]}`)).status, 401)
    })
  )

  it.effect("An access token ends with its session while tokens of other sessions stay valid", () =>
    Effect.gen(function* () {
      const me = yield* App.signInNewUser()
      const elsewhere = yield* App.openSession(me.user)
      const [here, there] = [(yield* tokenOf(me)).token, (yield* tokenOf(elsewhere)).token]
      assert.deepStrictEqual([yield* statusOf(here), yield* statusOf(there)], [200, 200])
      yield* App.web({ method: "POST", path: "/api/auth/signout", as: me })
      assert.deepStrictEqual([yield* statusOf(here), yield* statusOf(there)], [401, 200])
      yield* sql`update sessions set expires_at = now() - interval '1 second' where user_id = ${me.user.id}`
      assert.strictEqual(yield* statusOf(there), 401)
    })
  )

  it.effect("An access token ends with its user and authenticates no other", () =>
    Effect.gen(function* () {
      const { issue } = yield* AccessTokens
      const sessions = yield* Sessions
      const [me, other] = [yield* App.signInNewUser(), yield* App.signInNewUser()]
      const { token } = yield* tokenOf(me)
      const { session } = yield* sessions.open(other.user.id)
      for (const sessionId of [session.id, SessionId.make("ses_none"), SessionId.make("ses_\u0000")]) {
        const crossed = yield* issue({ userId: me.user.id, sessionId })
        assert.strictEqual(yield* statusOf(Redacted.value(crossed.token)), 401, sessionId)
      }
      assert.strictEqual(yield* statusOf(token), 200)
      yield* sql`delete from users where id = ${me.user.id}`
      assert.strictEqual(yield* statusOf(token), 401)
    })
  )
})
