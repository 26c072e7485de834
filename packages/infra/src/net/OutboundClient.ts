import { Context, Data, Duration, Effect, Either, Layer, Predicate, type Scope } from "effect"
import { type LookupAddress, Resolver } from "node:dns"
import { type IncomingMessage, request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { isIP, type LookupFunction } from "node:net"
import { networkInterfaces } from "node:os"
import { type AddressPolicy, makeAddressPolicy } from "./OutboundAddresses.ts"

/** All addresses of the host are private and not in `OUTBOUND_ALLOW_CIDRS`. */
class AddressNotAllowed extends Data.TaggedError("AddressNotAllowed")<{ readonly host: string }> {
  override readonly message = `${this.host} has no public address`
}

/** The response head is missing or incomplete. `reason` quotes neither the request nor the response. */
class OutboundRequestFailed extends Data.TaggedError("OutboundRequestFailed")<{ readonly reason: string }> {
  override readonly message = this.reason
}

interface OutboundCall {
  readonly method: "GET" | "POST" | "DELETE"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface OutboundRequest extends OutboundCall {
  /** Timeout of the whole exchange, including the body. */
  readonly timeout: Duration.DurationInput
  /** Maximum bytes of the response body; the next byte closes the connection. */
  readonly maximumBytes: number
}

interface OutboundResponse {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
  /** False if the limit of bytes or time, or a lost connection, truncated the body. */
  readonly isComplete: boolean
}

export type ResolveName = (
  hostname: string,
  done: (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void
) => void

const loopback: ReadonlyArray<LookupAddress> = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 }
]

/**
 * Queries name servers. Avoids `lookup`, which occupies one of the few threads that also hash passwords and read files.
 */
export const makeResolver =
  (resolver: Resolver): ResolveName =>
  (hostname, done) => {
    // Names without a name server (RFC 6761, 6.3).
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

/** Passes only the permitted addresses to a connection, so that a later DNS response cannot replace them. */
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

const readHead = (call: OutboundCall, lookup: LookupFunction) =>
  Effect.async<IncomingMessage, AddressNotAllowed | OutboundRequestFailed>((resume) => {
    const send = call.url.protocol === "https:" ? httpsRequest : httpRequest
    const started = Either.try({
      try: () =>
        send(call.url, {
          method: call.method,
          headers: { "user-agent": "Berth", ...call.headers },
          lookup,
          // A separate connection, checked by the guard.
          agent: false
        }),
      // Node.js throws for invalid header values.
      catch: toFailure
    })
    if (Either.isLeft(started)) return resume(Effect.fail(started.left))
    const request = started.right
    request.once("response", (response) => resume(Effect.succeed(response)))
    // Later errors concern the body.
    request.on("error", (error) => resume(Effect.fail(toFailure(error))))
    request.end(call.body)
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
 * HTTP client for addresses chosen by users. Follows no redirects and sends no trace headers. The address is checked at
 * the connection.
 */
export class OutboundClient extends Context.Tag("@berth/OutboundClient")<
  OutboundClient,
  {
    readonly send: (
      request: OutboundRequest
    ) => Effect.Effect<OutboundResponse, AddressNotAllowed | OutboundRequestFailed>
    /** Opens a response with an unread body, which is destroyed when the scope closes. No timeout. */
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
    // Connections to literal addresses cause no lookup.
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

/** `allowed`: networks in addition to public ones, from `OUTBOUND_ALLOW_CIDRS`. */
export const layer = ({ allowed }: { readonly allowed: ReadonlyArray<string> }) =>
  Layer.sync(OutboundClient, () => make(makeAddressPolicy(allowed, listOwnAddresses)))
