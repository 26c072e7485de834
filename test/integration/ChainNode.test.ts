import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { SmartWalletSignatures } from "@berth/domain/chain/SmartWalletSignatures"
import { TokenBalances } from "@berth/domain/chain/TokenBalances"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { AttestationRegistry } from "@berth/domain/verification/AttestationRegistry"
import { NameRegistry } from "@berth/domain/verification/NameRegistry"
import * as EasAttestationRegistry from "@berth/infra/chain/EasAttestationRegistry"
import * as EnsNameRegistry from "@berth/infra/chain/EnsNameRegistry"
import * as OutboundClient from "@berth/infra/net/OutboundClient"
import { makeChainNode } from "@berth/infra/chain/ChainNode"
import * as ViemSmartWalletSignatures from "@berth/infra/chain/ViemSmartWalletSignatures"
import * as ViemTokenBalances from "@berth/infra/chain/ViemTokenBalances"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Layer, Redacted } from "effect"
import { recordLogs } from "../support/RecordedTelemetry.ts"
import {
  respondRpcError,
  type ChainNodeBehavior,
  respondRpcResult,
  makeFakeChainNode
} from "../fakes/chain/FakeChainNode.ts"

const address = WalletAddress.make(`0x${"ab".repeat(20)}`)
const bytes32 = `0x${"ab".repeat(32)}`

const askAll = (url: string, timeout: Duration.DurationInput = "300 millis") =>
  Effect.gen(function* () {
    const { layer: logger, lines } = recordLogs()
    const node = yield* makeChainNode({ chain: "base", url: Redacted.make(new URL(url)), timeout })
    const ports = Layer.mergeAll(
      ViemSmartWalletSignatures.layer({ base: node, ethereum: node }),
      ViemTokenBalances.layer(node),
      EasAttestationRegistry.layer(node, { eas: address, coinbaseIndexer: address, coinbaseSchema: bytes32 }),
      Layer.provide(EnsNameRegistry.layer(node), OutboundClient.layer({ allowed: [] }))
    )
    const failures = yield* Effect.gen(function* () {
      const signatures = yield* SmartWalletSignatures
      const balances = yield* TokenBalances
      const attestations = yield* AttestationRegistry
      const names = yield* NameRegistry
      return [
        yield* Effect.flip(signatures.verify({ address, message: "m", signature: "0x00", chain: "base" })),
        yield* Effect.flip(balances.balanceOf({ chain: "base", token: address, holder: address })),
        yield* Effect.flip(attestations.find(bytes32, "latest")),
        yield* Effect.flip(attestations.findAccountAttestation(address, "latest")),
        yield* Effect.flip(names.findPrimaryName(address, "latest")),
        yield* Effect.flip(names.findAddress("ada.eth", "latest"))
      ]
    }).pipe(Effect.provide(ports), Effect.provide(logger))
    return { failures, lines }
  })

const raw =
  (status: number, type: string, body: string, headers: Readonly<Record<string, string>> = {}): ChainNodeBehavior =>
  (_request, response) => {
    response.writeHead(status, { "content-type": type, ...headers })
    response.end(body)
  }

const nodeFailures: ReadonlyArray<readonly [string, ChainNodeBehavior]> = [
  ["answers nothing", () => undefined],
  [
    "answers a head without a body",
    (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.write("{")
    }
  ],
  ["cuts the connection", (_request, response) => void response.destroy()],
  ["is overrun, and says to come back in an hour", raw(429, "text/plain", "slow down", { "retry-after": "3600" })],
  ["is overrun, in JSON-RPC", respondRpcError({ code: -32005, message: "limit exceeded" })],
  ["is overrun, in JSON-RPC with a status", respondRpcError({ code: 429, message: "limit exceeded" }, 429)],
  ["refuses the key", raw(401, "application/json", '{"error":"who are you"}')],
  ["is broken", raw(503, "text/html", "<html>")],
  ["is broken inside", respondRpcError({ code: -32603, message: "internal error" })],
  ["is behind", respondRpcError({ code: -32000, message: "header not found" })],
  ["knows no such method", respondRpcError({ code: -32601, message: "the method does not exist" })],
  ["is a web page", raw(200, "text/html", "<html>hello</html>")],
  ["answers no hex", respondRpcResult({ not: "hex" })],
  ["leads elsewhere", raw(307, "text/plain", "", { location: "https://example.com/" })]
]

describe.concurrent("ChainNode", () => {
  for (const [what, behave] of nodeFailures)
    it.scopedLive(`ChainNode reports a node that ${what} as unreachable in bounded time without its key`, () =>
      Effect.gen(function* () {
        const { url } = yield* makeFakeChainNode(behave)
        const { failures, lines } = yield* askAll(url)
        for (const error of failures) assert.instanceOf(error, ChainUnreachable)
        assert.isAtLeast(lines.length, 2)
        assert.notInclude(`${lines.join("\n")}${JSON.stringify(failures)}${String(failures)}`, "hunter2")
      })
    )

  it.scopedLive("ChainNode reports an absent node as unreachable", () =>
    Effect.gen(function* () {
      const { failures } = yield* askAll("http://127.0.0.1:1/v2/hunter2")
      for (const error of failures) assert.instanceOf(error, ChainUnreachable)
    })
  )

  it.scopedLive("ChainNode rejects a node of another chain", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeFakeChainNode(respondRpcResult("0x01"), "0x1")
      const { failures } = yield* askAll(url)
      for (const error of failures) assert.instanceOf(error, ChainUnreachable)
      assert.deepStrictEqual(new Set(yield* requests), new Set(["eth_chainId"]))
    })
  )

  it.scopedLive("ChainNode checks the chain id until it matches once, and retries a failed call once", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeFakeChainNode(raw(503, "text/html", ""))
      yield* askAll(url, "30 seconds")
      assert.deepStrictEqual(yield* requests, ["eth_chainId", ...Array.from({ length: 12 }, () => "eth_call")])
    })
  )

  it.scopedLive("ChainNode fails calls above its limit at once", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeFakeChainNode(() => undefined)
      const node = yield* makeChainNode({
        chain: "base",
        url: Redacted.make(new URL(url)),
        timeout: "3 seconds",
        maximumConcurrentCalls: 5
      })
      const reasons: Array<string> = []
      const verify = Effect.flatMap(SmartWalletSignatures, (signatures) =>
        Effect.flip(signatures.verify({ address, message: "m", signature: "0x00", chain: "base" }))
      ).pipe(
        Effect.tap(({ reason }) => Effect.sync(() => reasons.push(reason))),
        Effect.provide(ViemSmartWalletSignatures.layer({ base: node, ethereum: node }))
      )
      yield* Effect.replicateEffect(verify, 40, { concurrency: "unbounded" })
      // Concurrent callers do not wait for the request in progress.
      assert.deepStrictEqual(reasons, [
        ...Array.from({ length: 35 }, () => "too many concurrent calls"),
        ...Array.from({ length: 5 }, () => "timeout")
      ])
      assert.isAtMost((yield* requests).filter((method) => method === "eth_call").length, 10)
      // A later request is allowed.
      assert.strictEqual((yield* verify).reason, "timeout")
    })
  )

  it.scopedLive("ChainNode recognizes reverts in the wording of several nodes", () =>
    Effect.gen(function* () {
      for (const error of [
        { code: 3, message: "execution reverted" },
        { code: -32000, message: "execution reverted: no" },
        { code: -32000, message: "out of gas" },
        { code: -32000, message: "invalid opcode: INVALID" },
        { code: -32015, message: "VM execution error." }
      ]) {
        const { url } = yield* makeFakeChainNode(respondRpcError(error))
        const node = yield* makeChainNode({ chain: "base", url: Redacted.make(new URL(url)) })
        const verdict = yield* Effect.flatMap(SmartWalletSignatures, ({ verify }) =>
          verify({ address, message: "m", signature: "0x00", chain: "base" })
        ).pipe(Effect.provide(ViemSmartWalletSignatures.layer({ base: node, ethereum: node })))
        assert.strictEqual(verdict, "invalid", error.message)
      }
    })
  )
})
