import { Context, Data, Duration, Effect, Either, Layer, Predicate, type Scope } from "effect"
import { type LookupAddress, Resolver } from "node:dns"
import { type IncomingMessage, request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { isIP, type LookupFunction } from "node:net"
import { networkInterfaces } from "node:os"
import { type AddressPolicy, makeAddressPolicy } from "./OutboundAddresses.ts"

/** The address, or every address of the name, is private and not in `OUTBOUND_ALLOW_CIDRS`. */
export class AddressNotAllowed extends Data.TaggedError("AddressNotAllowed")<{ readonly host: string }> {
  override get message() {
    return `${this.host} has no public address`
  }
}

/** No complete head of a response. `reason` quotes neither the request nor the response. */
export class OutboundRequestFailed extends Data.TaggedError("OutboundRequestFailed")<{ readonly reason: string }> {
  override get message() {
    return this.reason
  }
}

export interface OutboundCall {
  readonly method: "GET" | "POST" | "DELETE"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface OutboundRequest extends OutboundCall {
  /** Limit of the whole exchange, body included. */
  readonly timeout: Duration.DurationInput
  /** Bytes of the response's body that are read; the connection closes at the next one. */
  readonly maximumBytes: number
}

export interface OutboundResponse {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
  /** False when the limit of bytes or of time, or a lost connection, cut the body off. */
  readonly isComplete: boolean
}

/** Resolves a name to its addresses. */
export type ResolveName = (
  hostname: string,
  done: (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void
) => void

const loopback: ReadonlyArray<LookupAddress> = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 }
]

/** By the name servers. Not by `lookup`, which holds one of the few threads that also hash passwords and read files. */
export const makeResolver =
  (resolver: Resolver): ResolveName =>
  (hostname, done) => {
    // No name server has these names (RFC 6761, 6.3).
    if (/(^|\.)localhost\.?$/.test(hostname)) return done(null, loopback)
    const found: Array<LookupAddress> = []
    let [fault, left]: [Error | null, number] = [null, 2]
    const receive = (family: number) => (error: Error | null, addresses: ReadonlyArray<string>) => {
      if (error === null) found.push(...addresses.map((address) => ({ address, family })))
      fault ??= error
      left -= 1
      if (left === 0) done(found.length === 0 ? fault : null, found)
    }
    resolver.resolve4(hostname, receive(4))
    resolver.resolve6(hostname, receive(6))
  }

/** Offers a connection the permitted addresses alone, so that no later answer of a name server can replace them. */
const guardedLookup =
  (isAllowed: AddressPolicy, resolve: ResolveName): LookupFunction =>
  (hostname, options, done) =>
    resolve(hostname, (error, addresses) => {
      const allowed = addresses.filter(({ address }) => isAllowed(address))
      const [first] = allowed
      const fault = error ?? (first === undefined ? new AddressNotAllowed({ host: hostname }) : null)
      if (fault !== null || first === undefined) done(fault, "")
      else if (options.all === true) done(null, allowed)
      else done(null, first.address, first.family)
    })

const toFailure = (error: unknown) =>
  error instanceof AddressNotAllowed
    ? error
    : new OutboundRequestFailed({
        reason: Predicate.hasProperty(error, "code") ? String(error.code) : "connection lost"
      })

const timedOut = new OutboundRequestFailed({ reason: "timeout" })

const readHead = (given: OutboundCall, lookup: LookupFunction) =>
  Effect.async<IncomingMessage, AddressNotAllowed | OutboundRequestFailed>((resume) => {
    const send = given.url.protocol === "https:" ? httpsRequest : httpRequest
    const started = Either.try({
      try: () =>
        send(given.url, {
          method: given.method,
          headers: { "user-agent": "Berth", ...given.headers },
          lookup,
          // A connection of its own, which the guard has checked.
          agent: false
        }),
      // Node.js throws on values that HTTP does not permit in a header.
      catch: toFailure
    })
    if (Either.isLeft(started)) return resume(Effect.fail(started.left))
    const request = started.right
    request.once("response", (response) => resume(Effect.succeed(response)))
    // Later errors belong to the body.
    request.on("error", (error) => resume(Effect.fail(toFailure(error))))
    request.end(given.body)
    return Effect.sync(() => request.destroy())
  })

const readBody = (response: IncomingMessage, maximumBytes: number, timeout: Duration.DurationInput) => {
  const chunks: Array<Buffer> = []
  return Effect.async<boolean>((resume) => {
    let size = 0
    const end = (isComplete: boolean) => resume(Effect.succeed(isComplete))
    response.on("data", (chunk: Buffer) => {
      const rest = maximumBytes - size
      size += chunk.length
      if (rest > 0) chunks.push(chunk.subarray(0, rest))
      if (size > maximumBytes) end(false)
    })
    response.once("end", () => end(response.complete))
    response.once("close", () => end(response.complete))
    response.on("error", () => end(false))
  }).pipe(
    Effect.timeoutTo({ duration: timeout, onTimeout: () => false, onSuccess: (isComplete) => isComplete }),
    Effect.ensuring(Effect.sync(() => response.destroy())),
    Effect.map((isComplete) => ({ body: Buffer.concat(chunks), isComplete }))
  )
}

/**
 * HTTP to addresses that users choose. Redirects are not followed and no trace headers are sent. The address is checked when
 * the connection is made.
 */
export class OutboundClient extends Context.Tag("@berth/OutboundClient")<
  OutboundClient,
  {
    readonly send: (
      request: OutboundRequest
    ) => Effect.Effect<OutboundResponse, AddressNotAllowed | OutboundRequestFailed>
    /** The response with an unread body, destroyed at the end of the scope. No time limit. */
    readonly open: (
      call: OutboundCall
    ) => Effect.Effect<IncomingMessage, AddressNotAllowed | OutboundRequestFailed, Scope.Scope>
  }
>() {}

export const make = (
  isAllowed: AddressPolicy,
  resolve: ResolveName = makeResolver(new Resolver({ timeout: 2_000, tries: 2 }))
) => {
  const lookup = guardedLookup(isAllowed, resolve)
  const readAllowed = (call: OutboundCall) => {
    const host = call.url.hostname.replace(/^\[|\]$/g, "")
    // Connections to literal addresses make no lookup.
    return isIP(host) !== 0 && !isAllowed(host) ? Effect.fail(new AddressNotAllowed({ host })) : readHead(call, lookup)
  }
  return OutboundClient.of({
    send: (request) =>
      Effect.gen(function* () {
        const [spent, response] = yield* readAllowed(request).pipe(
          Effect.timeoutFail({ duration: request.timeout, onTimeout: () => timedOut }),
          Effect.timed
        )
        const rest = Duration.subtract(request.timeout, spent)
        const read = yield* readBody(response, request.maximumBytes, rest)
        return { status: response.statusCode ?? 0, headers: response.headers, ...read }
      }),
    open: (call) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.tap(restore(readAllowed(call)), (response) =>
          Effect.addFinalizer(() =>
            Effect.sync(() => {
              response.on("error", () => {})
              response.destroy()
            })
          )
        )
      )
  })
}

const listOwnAddresses = () =>
  Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))

/** `allowed`: networks besides the public ones, from `OUTBOUND_ALLOW_CIDRS`. */
export const layer = ({ allowed }: { readonly allowed: ReadonlyArray<string> }) =>
  Layer.sync(OutboundClient, () => make(makeAddressPolicy(allowed, listOwnAddresses)))
