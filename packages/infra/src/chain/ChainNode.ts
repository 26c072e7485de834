import { type Chain, chainIds, ChainUnreachable } from "@berth/domain/chain/Chain"
import { normalizeWalletAddress, type WalletAddress } from "@berth/domain/chain/WalletAddress"
import { Duration, Effect, Redacted, Ref, Schedule } from "effect"
import {
  type Address,
  BaseError,
  type Client,
  createClient,
  ExecutionRevertedError,
  getAddress,
  http,
  HttpRequestError,
  LimitExceededRpcError,
  RpcRequestError,
  TimeoutError
} from "viem"
import { getChainId } from "viem/actions"

interface RpcNodeOptions {
  /** Name of the chain in logs. */
  readonly name: string
  /** EIP-155 id. */
  readonly chainId: number
  /** May contain a key: excluded from errors and logs. */
  readonly url: Redacted.Redacted<URL>
  /** Timeout of one request, including the body; default: 5 s. */
  readonly timeout?: Duration.DurationInput
  /** Default: 64. */
  readonly maximumConcurrentCalls?: number
}

interface ChainNodeOptions extends Omit<RpcNodeOptions, "name" | "chainId"> {
  readonly chain: Chain
}

/** JSON-RPC client of a chain node. */
export interface ChainNode {
  /** Retries once. `read` maps an error to a result; undefined, as by default, makes it an outage. */
  readonly call: <A>(
    request: (client: Client) => Promise<A>,
    read?: (error: BaseError) => A | undefined
  ) => Effect.Effect<A, ChainUnreachable>
}

export const toViemAddress = (address: WalletAddress): Address => getAddress(normalizeWalletAddress(address))

const retrySchedule = Schedule.addDelay(Schedule.recurs(1), () => Duration.millis(200))

/**
 * Reads the body within the timeout, which the client applies to the head only; redirects fail, since they could
 * disclose the key.
 */
const fetchFully = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const response = await fetch(input, { ...init, redirect: "error" })
  const { headers, status, statusText } = response
  return new Response(await response.text(), { headers, status, statusText })
}

const executionFailure = /revert|out of gas|invalid opcode|invalid jump|stack (over|under)flow|vm execution/i

/** Whether the node reported a failed execution of the contract. */
export const isExecutionFailure = (error: BaseError): boolean =>
  error.walk((cause) => cause instanceof ExecutionRevertedError) !== null ||
  error.walk((cause) => cause instanceof RpcRequestError && executionFailure.test(cause.details)) !== null

const describeError = (error: BaseError): string => {
  const found = error.walk(
    (cause) =>
      cause instanceof TimeoutError ||
      cause instanceof LimitExceededRpcError ||
      cause instanceof RpcRequestError ||
      cause instanceof HttpRequestError
  )
  if (found instanceof TimeoutError) return "timeout"
  if (found instanceof LimitExceededRpcError) return "too many requests"
  if (found instanceof RpcRequestError) return `JSON-RPC error ${found.code}`
  if (found instanceof HttpRequestError) return found.status === undefined ? "no connection" : `HTTP ${found.status}`
  return "malformed response"
}

export const makeRpcNode = Effect.fnUntraced(function* ({
  chainId,
  maximumConcurrentCalls = 64,
  name,
  timeout = Duration.seconds(5),
  url
}: RpcNodeOptions): Effect.fn.Return<ChainNode> {
  const isKnown = yield* Ref.make(false)
  const open = yield* Ref.make(0)
  const client = createClient({
    // Contracts could cause requests to any URL.
    ccipRead: false,
    transport: http(Redacted.value(url).href, {
      // The client's retries would wait for any Retry-After.
      retryCount: 0,
      timeout: Duration.toMillis(timeout),
      fetchFn: fetchFully
    })
  })

  const attempt = <A>(request: (client: Client) => Promise<A>, read?: (error: BaseError) => A | undefined) =>
    Effect.tryPromise({ try: () => request(client), catch: (error) => error }).pipe(
      Effect.catchAll((error) => {
        const known = error instanceof BaseError ? error : undefined
        const result = known === undefined ? undefined : read?.(known)
        return result === undefined
          ? Effect.fail(
              new ChainUnreachable({ reason: known === undefined ? "malformed response" : describeError(known) })
            )
          : Effect.succeed(result)
      })
    )

  /** Checked until it succeeds once, since a node of another chain has other contracts. */
  const requireChain = Effect.gen(function* () {
    if (yield* Ref.get(isKnown)) return
    const id = yield* attempt(getChainId)
    if (id !== chainId) return yield* new ChainUnreachable({ reason: `the node serves chain ${id}, not ${name}` })
    yield* Ref.set(isKnown, true)
  })

  /** Back-pressure: anonymous requests cause calls, so excess calls fail instead of queuing behind a slow node. */
  const withCallLimit = <A>(work: Effect.Effect<A, ChainUnreachable>) =>
    Effect.acquireUseRelease(
      Ref.modify(open, (count) => (count < maximumConcurrentCalls ? [true, count + 1] : [false, count])),
      (isAdmitted) => (isAdmitted ? work : new ChainUnreachable({ reason: "too many concurrent calls" })),
      (isAdmitted) => (isAdmitted ? Ref.update(open, (count) => count - 1) : Effect.void)
    )

  return {
    call: (request, read) =>
      Effect.zipRight(requireChain, attempt(request, read)).pipe(
        Effect.retry(retrySchedule),
        withCallLimit,
        Effect.tapErrorTag("ChainUnreachable", ({ reason }) =>
          Effect.logWarning("Chain unreachable").pipe(Effect.annotateLogs({ chain: name, reason }))
        )
      )
  }
})

export const makeChainNode = ({ chain, ...options }: ChainNodeOptions): Effect.Effect<ChainNode> =>
  makeRpcNode({ ...options, name: chain, chainId: chainIds[chain] })
