import { Effect, RcMap, type Scope } from "effect"
import { AgentLog } from "../../instances/AgentLog.ts"
import { RateLimiter, type RateLimitExceeded } from "../../limits/RateLimiter.ts"
import type { UserId } from "../../shared/UserId.ts"
import { type PageNotReadable, type WebPage, WebPages } from "../../skills/web/WebPages.ts"
import { TurnNotInProgress } from "./TurnErrors.ts"
import { type AgentTurn, TurnRepository } from "./TurnRepository.ts"

/** Maximum pages that agents of an owner read concurrently in a process; further reads wait. */
const concurrentPages = 4

/** Logged addresses omit the query, which may contain a secret. */
const withoutQuery = (address: string) => (address.split(/[?#]/)[0] ?? "").slice(0, 500)

/** Web pages for turns in progress. */
export class TurnPages extends Effect.Service<TurnPages>()("@berth/TurnPages", {
  scoped: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const limiter = yield* RateLimiter
    const log = yield* AgentLog
    const pages = yield* WebPages
    const slots = yield* RcMap.make({ lookup: (_: UserId) => Effect.makeSemaphore(concurrentPages) })

    const takeSlot = (owner: UserId) =>
      Effect.flatMap(RcMap.get(slots, owner), (slot) =>
        // Unlike the acquisition of `acquireRelease`, the wait is interruptible.
        Effect.uninterruptibleMask((restore) =>
          Effect.zipRight(
            restore(slot.take(1)),
            Effect.addFinalizer(() => slot.release(1))
          )
        )
      )

    /** Opens a page until the scope closes, and records it in the agent's log. */
    const open = Effect.fn("TurnPages.open")(function* (
      turn: AgentTurn,
      address: string
    ): Effect.fn.Return<WebPage, PageNotReadable | RateLimitExceeded | TurnNotInProgress, Scope.Scope> {
      yield* limiter.take("runtime-page", turn.userId)
      yield* Effect.mapError(yield* turns.find(turn), () => new TurnNotInProgress())
      yield* takeSlot(turn.userId)
      return yield* pages.open(address).pipe(
        Effect.tapBoth({
          onFailure: ({ reason }) =>
            log.append(turn.agentId, "warning", `Web page not read: ${withoutQuery(address)}: ${reason}`),
          onSuccess: ({ url }) => log.append(turn.agentId, "info", `Web page read: ${withoutQuery(url.href)}`)
        })
      )
    })

    return { open }
  })
}) {}
