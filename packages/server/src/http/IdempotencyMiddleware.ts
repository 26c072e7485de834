import { RequiredScope } from "@berth/api/sessions/RequiredScope"
import { Administrators } from "@berth/domain/accounts/Administrators"
import { makeRetryAfterHeader, retrySoon } from "@berth/api/limits/RateLimits"
import { modelHeader, providerHeader } from "@berth/api/ai/AnsweringModelHeaders"
import { conversationHeader } from "@berth/api/gateway/OpenAiGatewayApi"
import {
  FirstRequestUnanswered,
  FirstRequestUnansweredBody,
  IdempotencyKeyInvalid,
  IdempotencyKeyInvalidBody,
  IdempotencyKeyReused,
  IdempotencyKeyReusedBody,
  ResponseNotKept,
  ResponseNotKeptBody,
  maximumIdempotencyKeyLength
} from "@berth/api/limits/IdempotencyErrors"
import {
  type IdempotencyClaimId,
  type IdempotencyKey,
  IdempotencyKeys,
  maximumStoredBodyBytes,
  type StoredResponse
} from "@berth/domain/limits/IdempotencyKeys"
import { keepRenewed, leaseWaitLimit, whileRenewed } from "@berth/domain/limits/Lease"
import { IdempotencyClaimLost, RequestCharge, RequestClaim } from "@berth/domain/limits/IdempotentExecution"
import { Digests, hashSecret } from "@berth/domain/secrets/Digests"
import { HttpApiSchema, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Cause, Effect, Encoding, Fiber, FiberSet, Option, Predicate, Redacted, Schema, type Scope } from "effect"
import { isUtf8 } from "node:buffer"
import { withoutBoundary } from "../gateway/MultipartForm.ts"
import { type Authenticated, RequestCredentials } from "./RequestCredentials.ts"
import { currentAddressKey } from "./RateLimitsHttp.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { DetachedWork } from "./DetachedWork.ts"
import type { KnownRoute } from "./RouteTable.ts"
import { acceptsEventStream } from "./SseResponse.ts"
import { StreamStore } from "./StreamStore.ts"

/** Routes whose `Idempotency-Key` this middleware handles; the gateway calls `runOnce` directly. */
export const idempotentRoutes: ReadonlySet<string> = new Set([
  "POST /api/agents/provision",
  "POST /api/agents/:id/attachments",
  "POST /api/agents/:id/schedules",
  "POST /api/agents/:id/skills/:skillId/runs",
  "POST /api/agent",
  "POST /api/chat",
  "POST /api/deployments",
  "POST /api/billing",
  "POST /api/wallet/create",
  "POST /api/cardProcessor/storage-upgrade",
  "POST /api/ops/users/:id/credits",
  "POST /v1/chat/completions",
  "POST /v1/responses",
  "POST /v1/embeddings",
  "POST /v1/audio/speech",
  "POST /v1/audio/transcriptions"
])
/** Routes that answer `stream: true` with events. */
const streamedRoutes = new Set(["POST /v1/chat/completions", "POST /v1/responses"])
/** Routes whose answers `Last-Event-ID` resumes. */
const answerRoutes = new Set(["POST /api/agent", "POST /api/chat"])
/** Routes without authentication, whose principal is the client address. */
const anonymousRoutes = new Set(["POST /api/wallet/create"])
/** Routes that authenticate with an access token. */
const bearerRoutes = new Set(["POST /api/billing"])

/**
 * Repetitions of a request (same key, same body) receive the response of the first, even while it is in progress. Only
 * successful responses are stored; a failure frees the key.
 */
export class IdempotencyMiddleware extends Effect.Service<IdempotencyMiddleware>()("@berth/IdempotencyMiddleware", {
  effect: Effect.gen(function* () {
    const keys = yield* IdempotencyKeys
    const credentials = yield* RequestCredentials
    const digests = yield* Digests
    const administrators = yield* Administrators
    const detached = yield* DetachedWork

    const hold = (key: IdempotencyKey, id: IdempotencyClaimId) => {
      let isCharged = false
      // A charged request keeps its `reference` for repetitions, so its lease must expire.
      const release = Effect.suspend(() => (isCharged ? Effect.void : keys.release(key, id)))
      return {
        key,
        id,
        renew: keys.renew(key, id),
        recordCharge: Effect.sync(() => {
          isCharged = true
        }),
        release: Effect.catchAllCause(release, (cause) =>
          Effect.logWarning("Idempotency key not released, held until its lease ends", cause)
        ),
        /** If a response cannot be stored, the next request rebuilds it from the stored outcome. */
        keep: (response: HttpServerResponse.HttpServerResponse) =>
          Option.match(toStoredResponse(response), {
            onNone: () => release,
            onSome: (stored) =>
              Effect.flatMap(keys.hasRoom(key, stored.body.length), (fits) =>
                keys.complete(key, id, fits ? stored : responseNotKept)
              )
          }).pipe(Effect.catchAllCause((cause) => Effect.logWarning("Idempotent response not stored", cause)))
      }
    }
    type HeldKey = ReturnType<typeof hold>

    /** Continues after a disconnect; the request keeps its scope until the end. */
    const runToEnd = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.uninterruptible(Effect.flatMap(FiberSet.run(detached)(Effect.interruptible(work)), Fiber.join))

    const answerOnce = <E, R, R2>(
      { id, keep, key, recordCharge, release, renew }: HeldKey,
      isStreamed: boolean,
      app: AnswerWithStore<E, R>,
      afterwards: (response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void, never, R2>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | R2> => {
      const answer = Effect.suspend(() => app(keep)).pipe(
        Effect.provideService(RequestClaim, Option.some({ key, id })),
        Effect.provideService(RequestCharge, recordCharge),
        Effect.catchSomeDefect((defect) =>
          defect instanceof IdempotencyClaimLost
            ? Option.some(Effect.succeed(firstRequestUnansweredResponse))
            : Option.none()
        ),
        // At the drain limit the lease expires, so that a repetition has the same `reference`.
        Effect.onError((cause) => (!isStreamed && Cause.isInterruptedOnly(cause) ? Effect.void : release)),
        Effect.tap(afterwards),
        whileRenewed(renew)
      )
      if (isStreamed) return answer
      // A client that disconnected during the wait for the key starts nothing.
      return Effect.zipRight(
        Effect.onInterrupt(Effect.allowInterrupt, () => release),
        runToEnd(answer)
      )
    }

    /** Stores a complete response at once; a stream holds the claim until its end and stores itself. */
    const storeOrHold =
      ({ keep, release, renew }: HeldKey) =>
      (response: HttpServerResponse.HttpServerResponse) =>
        response.body._tag === "Stream"
          ? Effect.zipRight(
              Effect.addFinalizer(() => release),
              Effect.asVoid(Effect.forkScoped(keepRenewed(renew)))
            )
          : keep(response)

    const replayed = ({ body, encoding, headers, status }: StoredResponse) =>
      encoding === undefined
        ? Effect.succeed(HttpServerResponse.text(body, { status, headers }))
        : Effect.map(Effect.orDie(Encoding.decodeBase64(body)), (bytes) =>
            HttpServerResponse.uint8Array(bytes, { status, headers, contentType: headers["content-type"] })
          )

    const claimOrReplay = <E, R>(
      key: IdempotencyKey,
      requestHash: string,
      answer: (heldKey: HeldKey) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) =>
      keys.claimWithin(key, requestHash, leaseWaitLimit).pipe(
        Effect.flatMap((claim): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> => {
          switch (claim._tag) {
            case "Claimed":
              return answer(hold(key, claim.id))
            case "Replay":
              return replayed(claim.response)
            case "InProgress":
              return Effect.succeed(firstRequestUnansweredResponse)
            case "KeyReused":
              return Effect.succeed(makeErrorResponse(IdempotencyKeyReusedBody, new IdempotencyKeyReused()))
          }
        })
      )

    /**
     * Runs `app` once per key, to its end even if the client disconnects. A streamed answer ends with its client. The
     * scope is the request's: the key is held until a stream has ended, and is then free unless a response was stored.
     */
    const runOnce = <E, R>(
      key: IdempotencyKey,
      requestHash: string,
      app: AnswerWithStore<E, R>,
      { isStreamed = false } = {}
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Scope.Scope> =>
      isUsable(key.key)
        ? claimOrReplay(key, requestHash, (heldKey) => answerOnce(heldKey, isStreamed, app, storeOrHold(heldKey)))
        : Effect.succeed(invalidKeyResponse)

    const apply = <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      route: Option.Option<KnownRoute>,
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Scope.Scope> => {
      const key = request.headers["idempotency-key"]
      const name = Option.match(route, { onNone: () => "", onSome: ({ method, path }) => `${method} ${path}` })
      return key === undefined || !idempotentRoutes.has(name) || isResumption(request, name)
        ? app
        : applyKey(request, key, name, app)
    }

    const applyKey = Effect.fnUntraced(function* <E, R>(
      request: HttpServerRequest.HttpServerRequest,
      key: string,
      name: string,
      app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
    ) {
      // The same principal as at the endpoint.
      const authenticated = Option.flatten(
        yield* Effect.option(credentials.of(request, bearerRoutes.has(name) ? "access-token" : "session"))
      )
      const user = Option.map(authenticated, (found) => found.user)
      const principal = Option.getOrNull(Option.map(user, ({ id }) => id)) ?? (yield* findAnonymous(name))
      // The endpoint responds 401 or 403.
      if (principal === null) return yield* app
      if ((yield* RequiredScope) === "admin" && !Option.exists(user, administrators.includes)) return yield* app
      const bytes = Buffer.from(yield* Effect.orDie(request.arrayBuffer)).toString("latin1")
      const body = withoutBoundary(request.headers["content-type"] ?? "", bytes)
      const access = Option.match(authenticated, { onNone: () => "", onSome: describeAccess })
      const conversation = request.headers[conversationHeader]
      // A URL has no space.
      const target = conversation === undefined ? request.url : `${request.url} ${conversation}`
      const requestHash = hashSecret(digests, Redacted.make(`${access}${target}\n${body}`))
      return yield* runOnce(
        { principal, route: name, key },
        requestHash,
        (store) => Effect.provideService(app, StreamStore, Option.some(store)),
        { isStreamed: yield* wantsStream(request, name) }
      )
    })

    return { apply, runOnce }
  })
}) {}

/** Handles a request. Repetitions receive the response passed to `keep`. */
type AnswerWithStore<E, R> = (
  keep: (response: HttpServerResponse.HttpServerResponse) => Effect.Effect<void>
) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** A request that resumes an answer sends no message, and does not wait for the request that sent it. */
const isResumption = ({ headers }: HttpServerRequest.HttpServerRequest, name: string) =>
  answerRoutes.has(name) && headers["last-event-id"] !== undefined && acceptsEventStream(headers["accept"])

const wantsStream = (request: HttpServerRequest.HttpServerRequest, name: string) =>
  streamedRoutes.has(name)
    ? Effect.match(request.json, {
        onFailure: () => false,
        onSuccess: (body) => Predicate.hasProperty(body, "stream") && body.stream === true
      })
    : Effect.succeed(false)

const findAnonymous = (name: string) =>
  anonymousRoutes.has(name)
    ? Effect.map(currentAddressKey, (address): string | null => `address ${address}`)
    : Effect.succeed(null)

/**
 * Endpoints can require more scopes than their route, so a response is repeated only to callers with the scopes of the
 * first.
 */
const describeAccess = ({ proof }: Authenticated): string => {
  if (proof.by === "session") return ""
  return proof.by === "token" ? "token\n" : `${proof.scopes.toSorted().join()}\n`
}

const isUsable = (key: string) => /^[ -~\u0080-\u00ff]+$/.test(key) && key.length <= maximumIdempotencyKeyLength
const invalidKeyResponse = makeErrorResponse(IdempotencyKeyInvalidBody, new IdempotencyKeyInvalid())
const firstRequestUnansweredResponse = makeErrorResponse(
  FirstRequestUnansweredBody,
  new FirstRequestUnanswered(),
  makeRetryAfterHeader(retrySoon)
)

const responseNotKept: StoredResponse = {
  status: HttpApiSchema.getStatusError(ResponseNotKeptBody),
  headers: { "content-type": "application/json" },
  body: JSON.stringify(Schema.encodeSync(ResponseNotKeptBody)(new ResponseNotKept()))
}

/** Headers of the response, as opposed to the connection. */
const storedHeaders = new Set([
  "x-plugin-id",
  "x-audio-content-type",
  "payment-receipt",
  conversationHeader,
  "cache-control",
  "warning",
  modelHeader,
  providerHeader
])

const isStoredHeader = (name: string) => storedHeaders.has(name) || name.startsWith("x-berth-")

/** Returns the response for repetitions; none for a failure or a stream. */
const toStoredResponse = ({
  body,
  headers,
  status
}: HttpServerResponse.HttpServerResponse): Option.Option<StoredResponse> => {
  if (status >= 300 || body._tag !== "Uint8Array") return Option.none()
  if (body.body.length > maximumStoredBodyBytes) return Option.some(responseNotKept)
  return Option.some({
    status,
    headers: {
      ...Object.fromEntries(Object.entries(headers).filter(([name]) => isStoredHeader(name))),
      "content-type": body.contentType,
      "idempotent-replayed": "true"
    },
    ...(isUtf8(body.body)
      ? { body: new TextDecoder().decode(body.body) }
      : { body: Encoding.encodeBase64(body.body), encoding: "base64" as const })
  })
}
