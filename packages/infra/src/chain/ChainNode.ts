import { type Chain, chainIds } from "@berth/domain/chain/Chain"
import { ChainUnreachable } from "@berth/domain/chain/ChainErrors"
import { Duration, Effect, Redacted, Ref, Schedule } from "effect"
import {
  BaseError,
  type Client,
  createClient,
  ExecutionRevertedError,
  http,
  HttpRequestError,
  LimitExceededRpcError,
  RpcRequestError,
  TimeoutError
} from "viem"
import { getChainId } from "viem/actions"

export interface RpcNodeOptions {
  /** The chain's name in logs. */
  readonly name: string
  /** Its EIP-155 id. */
  readonly chainId: number
  /** The node's JSON-RPC address. It may hold a key, so it is in no error and no log. */
  readonly url: Redacted.Redacted<URL>
  /** How long one request may take, the body read; 5 s when absent. */
  readonly timeout?: Duration.DurationInput
  /** How many questions may be open at once; 64 when absent. */
  readonly maximumConcurrentCalls?: number
}

export interface ChainNodeOptions extends Omit<RpcNodeOptions, "name" | "chainId"> {
  readonly chain: Chain
}

/** A node of a chain that is asked over JSON-RPC. */
export interface ChainNode {
  /** Asks, and once more if there was no usable answer. What `read` makes of an error is its verdict; else it is an outage. */
  readonly call: <A>(
    question: (client: Client) => Promise<A>,
    read: (error: BaseError) => A | undefined
  ) => Effect.Effect<A, ChainUnreachable>
}

const retrySchedule = Schedule.addDelay(Schedule.recurs(1), () => Duration.millis(200))

/**
 * The whole exchange within the time of a request, redirects refused since they could lead a key to somebody else. The
 * client's own time ends with the head of an answer, so the body is read here.
 */
const fetchFully = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const response = await fetch(input, { ...init, redirect: "error" })
  const { headers, status, statusText } = response
  return new Response(await response.text(), { headers, status, statusText })
}

const executionFailure = /revert|out of gas|invalid opcode|invalid jump|stack (over|under)flow|vm execution/i

/** Whether the node answered, and what it answered is that the contract's code failed. */
export const isExecutionFailure = (error: BaseError): boolean =>
  error.walk((cause) => cause instanceof ExecutionRevertedError) !== null ||
  error.walk((cause) => cause instanceof RpcRequestError && executionFailure.test(cause.details)) !== null

const reasonOf = (error: BaseError): string => {
  const found = error.walk(
    (cause) =>
      cause instanceof TimeoutError ||
      cause instanceof LimitExceededRpcError ||
      cause instanceof RpcRequestError ||
      cause instanceof HttpRequestError
  )
  if (found instanceof TimeoutError) return "no answer in time"
  if (found instanceof LimitExceededRpcError) return "too many requests"
  if (found instanceof RpcRequestError) return `JSON-RPC error ${found.code}`
  if (found instanceof HttpRequestError) return found.status === undefined ? "no connection" : `HTTP ${found.status}`
  return "no usable answer"
}

/** A node that is asked as it is: the client neither repeats nor waits by itself. */
export const makeRpcNode = ({
  chainId,
  maximumConcurrentCalls = 64,
  name,
  timeout = Duration.seconds(5),
  url
}: RpcNodeOptions): Effect.Effect<ChainNode> =>
  Effect.gen(function* () {
    const isKnown = yield* Ref.make(false)
    const open = yield* Ref.make(0)
    const client = createClient({
      transport: http(Redacted.value(url).href, {
        // Its retries would sleep for as long as a node's Retry-After says.
        retryCount: 0,
        timeout: Duration.toMillis(timeout),
        fetchFn: fetchFully
      })
    })

    const once = <A>(question: (client: Client) => Promise<A>, read: (error: BaseError) => A | undefined) =>
      Effect.tryPromise({ try: () => question(client), catch: (error) => error }).pipe(
        Effect.catchAll((error) => {
          const known = error instanceof BaseError ? error : undefined
          const verdict = known === undefined ? undefined : read(known)
          return verdict === undefined
            ? Effect.fail(new ChainUnreachable({ reason: known === undefined ? "no usable answer" : reasonOf(known) }))
            : Effect.succeed(verdict)
        })
      )

    /** A node of another chain would be asked about other contracts; it is looked at until it has once been right. */
    const rightChain = Effect.gen(function* () {
      if (yield* Ref.get(isKnown)) return
      const id = yield* once(getChainId, () => undefined)
      if (id !== chainId)
        return yield* new ChainUnreachable({ reason: `the node is of chain ${id} and not of ${name}` })
      yield* Ref.set(isKnown, true)
    })

    /** Strangers can have it asked: what comes while too much is open is refused, and not piled up behind a node that is slow. */
    const ifNotBusy = <A>(work: Effect.Effect<A, ChainUnreachable>) =>
      Effect.acquireUseRelease(
        Ref.modify(open, (count) => (count < maximumConcurrentCalls ? [true, count + 1] : [false, count])),
        (isAdmitted) => (isAdmitted ? work : new ChainUnreachable({ reason: "too many questions at once" })),
        (isAdmitted) => (isAdmitted ? Ref.update(open, (count) => count - 1) : Effect.void)
      )

    return {
      call: (question, read) =>
        Effect.zipRight(rightChain, once(question, read)).pipe(
          Effect.retry(retrySchedule),
          ifNotBusy,
          Effect.tapErrorTag("ChainUnreachable", ({ reason }) =>
            Effect.logWarning("The chain cannot be asked").pipe(Effect.annotateLogs({ chain: name, reason }))
          )
        )
    }
  })

/** A node of a chain that the service knows by name. */
export const makeChainNode = ({ chain, ...options }: ChainNodeOptions): Effect.Effect<ChainNode> =>
  makeRpcNode({ ...options, name: chain, chainId: chainIds[chain] })
