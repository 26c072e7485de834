import { fitHistory } from "@berth/domain/interaction/conversations/HistoryWindow"
import { describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const messages = FastCheck.array(FastCheck.string().map((content) => ({ content })))
const lengthOf = (all: ReadonlyArray<{ readonly content: string }>) =>
  all.reduce((sum, { content }) => sum + content.length, 0)

describe("fitHistory", () => {
  it.prop("fitHistory keeps the newest messages that fit, in order", [messages, FastCheck.nat(60)], ([all, budget]) => {
    const kept = fitHistory(all, budget)
    const dropped = all.length - kept.length
    return (
      lengthOf(kept) <= budget &&
      kept.every((message, index) => message === all[dropped + index]) &&
      (dropped === 0 || lengthOf(all.slice(dropped - 1)) > budget)
    )
  })
})
