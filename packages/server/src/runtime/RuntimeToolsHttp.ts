import { BackendApi } from "@berth/api/BackendApi"
import { type RuntimeModelRequest, RuntimeMcpTools } from "@berth/api/runtime/RuntimeContract"
import { AgentNotInInstance, RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import { A2aCalls } from "@berth/domain/a2a/A2aCalls"
import { AgentLifecycle } from "@berth/domain/agents/AgentLifecycle"
import { RuntimeSpans } from "@berth/domain/instances/RuntimeSpans"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { TurnMcpTools } from "@berth/domain/interaction/turns/TurnMcpTools"
import { TurnPages } from "@berth/domain/interaction/turns/TurnPages"
import type { AgentTurn } from "@berth/domain/interaction/turns/TurnRepository"
import { WalletCalls } from "@berth/domain/wallets/payments/WalletCalls"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"

const encodeTools = Schema.encodeSync(RuntimeMcpTools)

export const layer = group(BackendApi, "runtimeTools", (handlers) =>
  Effect.gen(function* () {
    const agents = yield* AgentLifecycle
    const memories = yield* Memories
    const wallets = yield* WalletCalls
    const a2a = yield* A2aCalls
    const mcp = yield* TurnMcpTools
    const pages = yield* TurnPages
    const { relay } = yield* RuntimeSpans

    /** Finds the turn of a request. An instance can access only its owner's agents. */
    const findTurn = Effect.fnUntraced(function* ({
      agentId,
      messageId: turnId
    }: Pick<RuntimeModelRequest, "agentId" | "messageId">) {
      const userId = yield* RuntimeOwner
      yield* Effect.mapError(yield* agents.findOwned(userId, agentId), () => new AgentNotInInstance())
      return { agentId, userId, turnId } satisfies AgentTurn
    })

    return (
      handlers
        .handle("note", ({ payload }) =>
          Effect.flatMap(findTurn(payload), (turn) => memories.noteInTurn(turn, payload.text))
        )
        .handle("recall", ({ payload }) =>
          Effect.gen(function* () {
            const hits = yield* memories.searchInTurn(yield* findTurn(payload), payload.query)
            return { found: hits.map(({ at, kind, text }) => ({ kind, text, at: at.epochMillis })) }
          })
        )
        .handle("useWallet", ({ payload: { call, ...of } }) =>
          Effect.gen(function* () {
            const turn = yield* findTurn(of)
            const text = yield* call.action === "get_balance"
              ? wallets.getBalance(turn)
              : call.action === "send_usdc"
                ? wallets.sendUsdc(turn, call)
                : wallets.fetchPaid(turn, call)
            return { text }
          }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
        )
        .handle("messageAgent", ({ payload: { call, ...of } }) =>
          Effect.gen(function* () {
            const turn = yield* findTurn(of)
            return { text: yield* call.action === "list_agents" ? a2a.listAgents(turn) : a2a.send(turn, call) }
          }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
        )
        .handle("callMcp", ({ payload: { call, ...of } }) =>
          Effect.gen(function* () {
            const turn = yield* findTurn(of)
            return { text: call.action === "list" ? encodeTools(yield* mcp.list(turn)) : yield* mcp.call(turn, call) }
          }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
        )
        .handle("openPage", ({ payload: { agentId, messageId: turnId, url } }) =>
          Effect.gen(function* () {
            const page = yield* pages.open({ userId: yield* RuntimeOwner, agentId, turnId }, url)
            return HttpServerResponse.stream(page.body, {
              contentType: page.contentType,
              headers: { "content-location": page.url.href }
            })
          }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
        )
        // The owner of the token, not the body, determines the spans' owner.
        .handle("relaySpans", ({ payload: { spans } }) =>
          Effect.flatMap(RuntimeOwner, (owner) => relay(owner, spans)).pipe(
            Effect.tapErrorTag("RateLimitExceeded", addRetryAfter)
          )
        )
    )
  })
)
