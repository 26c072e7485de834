import {
  FirstRequestUnanswered,
  FirstRequestUnansweredBody,
  IdempotencyKeyInvalid,
  IdempotencyKeyInvalidBody,
  IdempotencyKeyReused,
  IdempotencyKeyReusedBody,
  maximumIdempotencyKeyLength
} from "@berth/api/limits/IdempotencyErrors"
import {
  type IdempotencyClaimId,
  type IdempotencyKey,
  IdempotencyKeys,
  type StoredResponse
} from "@berth/domain/limits/IdempotencyKeys"
import { IdempotencyClaimLost, RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Duration, Effect, Option, Redacted, Schedule, type Scope } from "effect"
import { RequestSession } from "../sessions/RequestSession.ts"
import { readBearerToken } from "./InternalAuthHttp.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import type { KnownRoute } from "./RouteTable.ts"

/** Routes whose endpoints leave `Idempotency-Key` to the rules for every request. The others that charge use `once` themselves. */
const idempotentRoutes = new Set([
  "POST /api/agents/provision",
  "POST /api/billing",
  "POST /api/cardProcessor/storage-upgrade"
])
/** Of these, the ones that want an access token. */
const bearerRoutes = new Set(["POST /api/billing"])

/** A second request with a key waits this long for the first one's answer, looking this often: longer than a dead process holds a claim. */
const claimWaitLimit = Duration.seconds(20)
const claimPollInterval = Duration.millis(50)
const renewalInterval = Duration.seconds(5)

/**
 * Repeated requests: the same key with the same body gets the first answer again, also while the first is in work. Only
 * answers that did something are kept; after a refusal the key is free for a better request.
 */
export class IdempotencyMiddleware extends Effect.Service<IdempotencyMiddleware>()("@berth/IdempotencyMiddleware", {
  effect: Effect.gen(function* () {
    const keys = yield* IdempotencyKeys
    const session = yield* RequestSession
    const digests = yield* Digests
    const bearer = yield* BearerSessions

    const byToken = (request: HttpServerRequest.HttpServerRequest) =>
      Option.match(readBearerToken(request), {
        onNone: () => Effect.succeedNone,
        onSome: (token) => Effect.option(bearer.authenticate(token))
      })

    /** Once the answer is there nothing takes it back: one that cannot be kept is made again from what its effect left behind. */
    const keep = (key: IdempotencyKey, claim: IdempotencyClaimId, response: HttpServerResponse.HttpServerResponse) =>
      Option.match(toStoredResponse(response), {
        onNone: () => keys.release(key, claim),
        onSome: (stored) => Effect.asVoid(keys.complete(key, claim, stored))
      }).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("The answer to a request with a key was not kept", cause))
      )

    const letGo = (key: IdempotencyKey, claim: IdempotencyClaimId) =>
      keys
        .release(key, claim)
        .pipe(Effect.catchAllCause((cause) => Effect.logWarning("A key is held until its lease ends", cause)))

    const answerOnce = <E, R, R2>(
      key: IdempotencyKey,
      claim: IdempotencyClaimId,
      app: AnswerWithStore<E, R>,
      afterwards: (response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void, never, R2>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | R2> =>
      Effect.suspend(() => app((response) => keep(key, claim, response))).pipe(
        Effect.provideService(RequestClaim, Option.some({ key, id: claim })),
        Effect.catchSomeDefect((defect) =>
          defect instanceof IdempotencyClaimLost
            ? Option.some(Effect.succeed(firstRequestUnansweredResponse))
            : Option.none()
        ),
        Effect.onError(() => letGo(key, claim)),
        Effect.tap(afterwards),
        Effect.raceFirst(Effect.interruptible(keepClaim(key, claim)))
      )

    /** Of an answer in one piece, at once; of a stream, whoever makes it keeps its end, and until then nobody else may begin. */
    const keepOrHold =
      (key: IdempotencyKey, claim: IdempotencyClaimId) => (response: HttpServerResponse.HttpServerResponse) =>
        response.body._tag === "Stream"
          ? Effect.zipRight(
              Effect.addFinalizer(() => letGo(key, claim)),
              Effect.asVoid(Effect.forkScoped(Effect.interruptible(keepClaim(key, claim))))
            )
          : keep(key, claim, response)

    // A request runs uninterruptibly around its handler, and what only keeps it company must end with it.
    const keepClaim = (key: IdempotencyKey, claim: IdempotencyClaimId) =>
      keys.renew(key, claim).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("The claim of a request with a key was not renewed", cause)),
        Effect.delay(renewalInterval),
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
        Effect.retry(
          Schedule.intersect(Schedule.spaced(claimPollInterval), Schedule.upTo(Schedule.forever, claimWaitLimit))
        ),
        Effect.merge
      )

    const replayed = ({ body, headers, status }: StoredResponse) =>
      HttpServerResponse.text(body, { status, headers: { ...headers, "idempotent-replayed": "true" } })

    const claimOrReplay = <E, R>(
      key: IdempotencyKey,
      requestHash: string,
      answer: (claim: IdempotencyClaimId) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) =>
      firstDecided(key, requestHash).pipe(
        Effect.flatMap((claim): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> => {
          switch (claim._tag) {
            case "Claimed":
              return answer(claim.id)
            case "Replay":
              return Effect.succeed(replayed(claim.response))
            case "InProgress":
              return Effect.succeed(firstRequestUnansweredResponse)
            case "KeyReused":
              return Effect.succeed(makeErrorResponse(IdempotencyKeyReusedBody, new IdempotencyKeyReused()))
          }
        })
      )

    /**
     * Answers once a key, for a route that finds out by itself whose request it is. The scope is the request's: until a stream has
     * ended its key is taken, and what `keep` was given by then is what repetitions get; without that the key is free again.
     */
    const once = <E, R>(
      key: IdempotencyKey,
      requestHash: string,
      app: AnswerWithStore<E, R>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Scope.Scope> =>
      isUsable(key.key)
        ? claimOrReplay(key, requestHash, (claim) => answerOnce(key, claim, app, keepOrHold(key, claim)))
        : Effect.succeed(invalidKeyResponse)

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
        if (!isUsable(key)) return invalidKeyResponse
        const body = yield* Effect.orDie(request.text)
        const requestHash = hashSecret(digests, Redacted.make(body))
        const named = { principal: principal.value.user.id, route: name, key }
        return yield* claimOrReplay(named, requestHash, (claim) =>
          answerOnce(
            named,
            claim,
            () => app,
            (response) => keep(named, claim, response)
          )
        )
      })

    return { apply, once }
  })
}) {}

/** Makes the answer to a request; what it gives to `keep` is what repetitions get. */
export type AnswerWithStore<E, R> = (
  keep: (response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void>
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

const isUsable = (key: string) => key !== "" && key.length <= maximumIdempotencyKeyLength
const invalidKeyResponse = makeErrorResponse(IdempotencyKeyInvalidBody, new IdempotencyKeyInvalid())
const firstRequestUnansweredResponse = makeErrorResponse(FirstRequestUnansweredBody, new FirstRequestUnanswered(), {
  "retry-after": "1"
})

/** Headers that belong to an answer rather than to the moment or the connection. */
const isStoredHeader = (name: string) =>
  ["x-plugin-id", "x-audio-content-type", "payment-receipt", "cache-control"].includes(name) ||
  name.startsWith("x-berth-")

/** What is kept of an answer that did something. */
const toStoredResponse = ({ body, headers, status }: HttpServerResponse.HttpServerResponse) =>
  status < 300 && body._tag === "Uint8Array"
    ? Option.some({
        status,
        headers: {
          ...Object.fromEntries(Object.entries(headers).filter(([name]) => isStoredHeader(name))),
          "content-type": body.contentType
        },
        body: new TextDecoder().decode(body.body)
      })
    : Option.none()
