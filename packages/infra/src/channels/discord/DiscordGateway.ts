import {
  Clock,
  Data,
  Duration,
  Effect,
  Fiber,
  Option,
  Queue,
  Random,
  type Redacted,
  Ref,
  Schedule,
  Schema,
  type Scope,
  Stream
} from "effect"
import { WebSocket } from "ws"
import {
  decideAfterClose,
  GatewayEnd,
  GatewayFrame,
  type GatewaySession,
  Hello,
  makeGatewayAddress,
  makeHeartbeat,
  makeIdentify,
  makeResume,
  opcodes,
  Ready
} from "./GatewayProtocol.ts"

/** Discord rejects the bot's connection until its owner acts. */
export class GatewayRefused extends Data.TaggedError("GatewayRefused")<{ readonly reason: string }> {}

/** The gateway is unreachable, or closes connections soon after they are established. */
export class GatewayUnavailable extends Data.TaggedError("GatewayUnavailable")<{ readonly reason: string }> {}

/** An event, with the session to resume after it. */
export interface GatewayEvent {
  readonly type: string
  readonly data: unknown
  readonly session: GatewaySession
}

interface GatewayOptions<E> {
  readonly token: Redacted.Redacted
  readonly intents: number
  /** Finds the address for a new session. */
  readonly findUrl: Effect.Effect<string, E>
  /** Session to resume. */
  readonly session: Option.Option<GatewaySession>
  /** Runs on arrival of an event, before earlier events are read. */
  readonly onArrival?: (event: GatewayEvent) => Effect.Effect<void>
}

type SocketEvent = Data.TaggedEnum<{
  Received: { readonly text: string }
  Closed: { readonly code: number }
  /** The last heartbeat was not acknowledged. */
  Silent: {}
}>
const SocketEvent = Data.taggedEnum<SocketEvent>()

const maximumFrameBytes = 8 * 1024 * 1024
const handshakeTimeout = Duration.seconds(10)
const greetingTimeout = Duration.seconds(20)
/** After a shorter connection, the caller decides when to reconnect. */
const stableMs = 5_000
/** Unread events above which reading from the socket pauses. */
const maximumUnreadEvents = 1_000

const openSocket = (address: URL, events: Queue.Enqueue<SocketEvent>): Effect.Effect<WebSocket, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = new WebSocket(address, {
        maxPayload: maximumFrameBytes,
        perMessageDeflate: false,
        followRedirects: false,
        handshakeTimeout: Duration.toMillis(handshakeTimeout)
      })
      socket.on("message", (data: Buffer, isBinary) => {
        if (!isBinary) events.unsafeOffer(SocketEvent.Received({ text: data.toString("utf8") }))
      })
      // A close event follows each error.
      socket.on("error", () => undefined)
      socket.on("close", (code) => events.unsafeOffer(SocketEvent.Closed({ code })))
      return socket
    }),
    // Without a close frame, since a normal closure would end the session.
    (socket) => Effect.sync(() => socket.terminate())
  )

const decodeFrame = Schema.decodeUnknownOption(Schema.parseJson(GatewayFrame))
const decodeHello = Schema.decodeUnknownOption(Hello)
const decodeReady = Schema.decodeUnknownOption(Ready)

/** Runs consecutive connections and resumes the session, while connections are stable. */
const runGateway = <E>(
  { findUrl, intents, session: first, token }: GatewayOptions<E>,
  publish: (event: GatewayEvent) => Effect.Effect<unknown>
): Effect.Effect<never, GatewayRefused | GatewayUnavailable | E> =>
  Effect.gen(function* () {
    const session = yield* Ref.make(first)

    const handleEvent = Effect.fnUntraced(function* ({ d, s, t }: GatewayFrame) {
      const known = yield* session
      const ready = t === "READY" ? decodeReady(d) : Option.none()
      const current = Option.match(ready, {
        onNone: () => Option.map(known, (before) => ({ ...before, sequence: s ?? before.sequence })),
        onSome: ({ resume_gateway_url, session_id }) =>
          Option.some({ sessionId: session_id, resumeUrl: resume_gateway_url, sequence: s ?? 0 })
      })
      yield* Ref.set(session, current)
      if (Option.isSome(current)) yield* publish({ type: t ?? "", data: d, session: current.value })
    })

    /** Follows a connection until its end. */
    const follow = Effect.fnUntraced(function* (address: URL) {
      const events = yield* Queue.unbounded<SocketEvent>()
      const socket = yield* openSocket(address, events)
      const isAcknowledged = yield* Ref.make(true)
      const isGreeted = yield* Ref.make(false)
      const send = (frame: unknown) =>
        Effect.sync(() => {
          if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
        })
      const heartbeat = Effect.flatMap(session, (known) =>
        send(makeHeartbeat(Option.getOrNull(Option.map(known, ({ sequence }) => sequence))))
      )
      const beat = Effect.flatMap(Ref.getAndSet(isAcknowledged, false), (isAlive) =>
        isAlive ? heartbeat : Queue.offer(events, SocketEvent.Silent())
      )

      const greet = Effect.fnUntraced(function* ({ d }: GatewayFrame) {
        const hello = decodeHello(d)
        if (Option.isNone(hello)) return
        yield* Ref.set(isGreeted, true)
        const interval = hello.value.heartbeat_interval
        const start = Math.floor(interval * (yield* Random.next))
        yield* Effect.forkScoped(Effect.zipRight(Effect.sleep(start), Effect.repeat(beat, Schedule.spaced(interval))))
        yield* send(
          Option.match(yield* session, {
            onNone: () => makeIdentify(token, intents),
            onSome: (known) => makeResume(token, known)
          })
        )
      })

      /** Some at the end of the connection. */
      const handle = (frame: GatewayFrame): Effect.Effect<Option.Option<GatewayEnd>, never, Scope.Scope> => {
        switch (frame.op) {
          case opcodes.hello:
            return Effect.as(greet(frame), Option.none())
          case opcodes.heartbeat:
            return Effect.as(heartbeat, Option.none())
          case opcodes.heartbeatAck:
            return Effect.as(Ref.set(isAcknowledged, true), Option.none())
          case opcodes.dispatch:
            return Effect.as(handleEvent(frame), Option.none())
          case opcodes.reconnect:
            return Effect.succeedSome(GatewayEnd.Resume())
          case opcodes.invalidSession:
            return Effect.succeedSome(frame.d === true ? GatewayEnd.Resume() : GatewayEnd.Identify())
          default:
            return Effect.succeedNone
        }
      }

      const step = Effect.flatMap(
        Queue.take(events),
        SocketEvent.$match({
          Closed: ({ code }) => Effect.succeedSome(decideAfterClose(code)),
          Silent: () => Effect.succeedSome(GatewayEnd.Resume()),
          Received: ({ text }) => Option.match(decodeFrame(text), { onNone: () => Effect.succeedNone, onSome: handle })
        })
      )
      const requireGreeting = Effect.unlessEffect(Queue.offer(events, SocketEvent.Silent()), isGreeted)
      yield* Effect.forkScoped(Effect.delay(requireGreeting, greetingTimeout))
      return yield* Effect.repeat(step, { until: Option.isSome })
    }, Effect.scoped)

    const findAddress = Effect.flatMap(
      session,
      Option.match({ onNone: () => findUrl, onSome: ({ resumeUrl }) => Effect.succeed(resumeUrl) })
    )

    const connect = Effect.gen(function* () {
      const address = makeGatewayAddress(yield* findAddress)
      if (Option.isNone(address)) return yield* new GatewayUnavailable({ reason: "gateway address" })
      const startedAt = yield* Clock.currentTimeMillis
      const end = Option.getOrElse(yield* follow(address.value), GatewayEnd.Resume)
      const lasted = (yield* Clock.currentTimeMillis) - startedAt
      if (end._tag === "Refused") return yield* new GatewayRefused({ reason: end.reason })
      if (end._tag === "Identify" && Option.isSome(yield* session)) {
        yield* Ref.set(session, Option.none())
        // Discord requires a wait of 1 to 5 seconds before a new session.
        return yield* Effect.sleep(Duration.seconds(1 + 4 * (yield* Random.next)))
      }
      if (lasted < stableMs) return yield* new GatewayUnavailable({ reason: "connection lost" })
    })

    return yield* Effect.forever(connect)
  })

/**
 * Streams the events of a bot over reconnects. Fails after an unstable connection; reading can continue from a session.
 */
export const readGateway = <E>(
  options: GatewayOptions<E>
): Stream.Stream<GatewayEvent, GatewayRefused | GatewayUnavailable | E> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<GatewayEvent>(maximumUnreadEvents)
      const running = yield* Effect.forkScoped(
        runGateway(options, (event) =>
          Effect.zipRight(options.onArrival?.(event) ?? Effect.void, Queue.offer(queue, event))
        )
      )
      return Stream.merge(Stream.fromQueue(queue), Stream.fromEffect(Fiber.join(running)))
    })
  )
