import {
  FirstRequestIsUnanswered,
  FirstRequestIsUnansweredBody,
  IdempotencyKeyIsInvalid,
  IdempotencyKeyIsInvalidBody,
  IdempotencyKeyIsReused,
  IdempotencyKeyIsReusedBody,
  maximumIdempotencyKeyLength
} from "@berth/api/limits/Idempotency"
import { type ClaimId, type IdempotencyKey, IdempotencyKeys } from "@berth/domain/limits/IdempotencyKeys"
import { ClaimIsLost, RequestClaim } from "@berth/domain/limits/OncePerKey"
import { Tokens } from "@berth/domain/secrets/Tokens"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Option, Redacted, Schedule } from "effect"
import { RequestSession } from "../sessions/RequestSession.ts"
import { tokenOf } from "./InternalAuthHttp.ts"
import { errorResponse } from "./ErrorResponse.ts"
import type { KnownRoute } from "./RouteTable.ts"

/** Routes that create or charge, and so honour `Idempotency-Key`. */
const idempotentRoutes = new Set([
  "POST /api/agents/provision",
  "POST /api/billing",
  "POST /api/cardProcessor/storage-upgrade"
])
/** Of these, the ones that want an access token. */
const bearerRoutes = new Set(["POST /api/billing"])

/** A second request with a key waits this long for the first one's answer, looking this often: longer than a dead process holds a claim. */
const patience = Duration.seconds(20)
const looking = Duration.millis(50)
const renewal = Duration.seconds(5)

/**
 * Repeated requests: the same key with the same body gets the first answer again, also while the first is in work. Only
 * answers that did something are kept; after a refusal the key is free for a better request.
 */
export class Idempotency extends Effect.Service<Idempotency>()("@berth/Idempotency", {
  effect: Effect.gen(function* () {
    const keys = yield* IdempotencyKeys
    const session = yield* RequestSession
    const tokens = yield* Tokens
    const bearer = yield* BearerSessions

    const byToken = (request: HttpServerRequest.HttpServerRequest) =>
      Option.match(tokenOf(request), {
        onNone: () => Effect.succeedNone,
        onSome: (token) => Effect.option(bearer.authenticate(token))
      })

    /** Once the answer is there nothing takes it back: one that cannot be kept is made again from what its effect left behind. */
    const keep = (key: IdempotencyKey, claim: ClaimId, response: HttpServerResponse.HttpServerResponse) =>
      Option.match(storable(response), {
        onNone: () => keys.abandon(key, claim),
        onSome: (stored) => Effect.asVoid(keys.complete(key, claim, stored))
      }).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("The answer to a request with a key was not kept", cause))
      )

    const letGo = (key: IdempotencyKey, claim: ClaimId) =>
      keys
        .abandon(key, claim)
        .pipe(Effect.catchAllCause((cause) => Effect.logWarning("A key is held until its lease ends", cause)))

    const answerOnce = <E, R>(
      key: IdempotencyKey,
      claim: ClaimId,
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
      app.pipe(
        Effect.provideService(RequestClaim, Option.some({ key, id: claim })),
        Effect.catchSomeDefect((defect) =>
          defect instanceof ClaimIsLost ? Option.some(Effect.succeed(unanswered)) : Option.none()
        ),
        Effect.onError(() => letGo(key, claim)),
        Effect.tap((response) => keep(key, claim, response)),
        Effect.raceFirst(Effect.interruptible(keepClaim(key, claim)))
      )

    // A request runs uninterruptibly around its handler, and what only keeps it company must end with it.
    const keepClaim = (key: IdempotencyKey, claim: ClaimId) =>
      keys.renew(key, claim).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("The claim of a request with a key was not renewed", cause)),
        Effect.delay(renewal),
        Effect.repeat(Schedule.forever),
        Effect.zipRight(Effect.never)
      )

    /** The claim as soon as it is more than "in progress", or that it still is when patience ends. */
    const firstDecided = (key: IdempotencyKey, requestHash: string) =>
      keys.claim(key, requestHash).pipe(
        Effect.filterOrFail(
          (claim) => claim._tag !== "InProgress",
          (claim) => claim
        ),
        Effect.retry(Schedule.intersect(Schedule.spaced(looking), Schedule.upTo(Schedule.forever, patience))),
        Effect.merge
      )

    const claimOrReplay = <E, R>(
      key: IdempotencyKey,
      requestHash: string,
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) =>
      firstDecided(key, requestHash).pipe(
        Effect.flatMap((claim): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> => {
          switch (claim._tag) {
            case "Claimed":
              return answerOnce(key, claim.id, app)
            case "Replay":
              return Effect.succeed(
                HttpServerResponse.text(claim.response.body, {
                  status: claim.response.status,
                  headers: { ...claim.response.headers, "idempotent-replayed": "true" }
                })
              )
            case "InProgress":
              return Effect.succeed(unanswered)
            case "KeyReused":
              return Effect.succeed(errorResponse(IdempotencyKeyIsReusedBody, new IdempotencyKeyIsReused()))
          }
        })
      )

    const apply = <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      route: Option.Option<KnownRoute>,
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> => {
      const key = request.headers["idempotency-key"]
      const name = Option.match(route, { onNone: () => "", onSome: ({ method, path }) => `${method} ${path}` })
      return key === undefined || !idempotentRoutes.has(name) ? app : applyKey(request, key, name, app)
    }

    const applyKey = <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      key: string,
      name: string,
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) =>
      Effect.gen(function* () {
        // As the endpoint itself knows him.
        const principal = bearerRoutes.has(name) ? yield* byToken(request) : yield* session.of(request)
        // Nobody is signed in: the endpoint says so.
        if (Option.isNone(principal)) return yield* app
        if (key === "" || key.length > maximumIdempotencyKeyLength)
          return errorResponse(IdempotencyKeyIsInvalidBody, new IdempotencyKeyIsInvalid())
        const body = yield* Effect.orDie(request.text)
        const requestHash = tokens.hash(Redacted.make(body))
        return yield* claimOrReplay({ principal: principal.value.user.id, route: name, key }, requestHash, app)
      })

    return { apply }
  })
}) {}

const unanswered = errorResponse(FirstRequestIsUnansweredBody, new FirstRequestIsUnanswered(), { "retry-after": "1" })

/** What is kept of an answer that did something; its headers are those of the body. */
const storable = (response: HttpServerResponse.HttpServerResponse) =>
  response.status < 300 && response.body._tag === "Uint8Array"
    ? Option.some({
        status: response.status,
        headers: { "content-type": response.body.contentType },
        body: new TextDecoder().decode(response.body.body)
      })
    : Option.none()
