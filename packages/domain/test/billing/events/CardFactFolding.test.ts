import {
  eventMomentOrder,
  mergeSubscriptionFacts,
  type SubscriptionFacts
} from "@berth/domain/billing/events/SubscriptionFacts"
import { type CardEvent, isReversalEvent } from "@berth/domain/billing/events/CardEvent"
import { readCardEvent } from "@berth/domain/billing/events/CardEventReader"
import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Option } from "effect"
import { makeInMemoryCardRecords } from "../../../../../test/support/billing/InMemoryCardRecords.ts"
import { cardEventArrival, cardEventHistory } from "../../../../../test/support/billing/CardEventHistories.ts"

const stateAfter = (events: ReadonlyArray<CardEvent>) => {
  const { apply, state } = makeInMemoryCardRecords()
  for (const event of events) apply(event)
  return state()
}

const factsOf = (events: ReadonlyArray<CardEvent>): ReadonlyArray<SubscriptionFacts> =>
  events.flatMap((event) =>
    isReversalEvent(event)
      ? []
      : Option.match(Either.getOrThrow(readCardEvent(event, new Map())).subscription, {
          onNone: () => [],
          onSome: ({ facts }) => [facts]
        })
  )

describe("The result of card events", () => {
  it("Card events have the same result in any order and repetition", () => {
    FastCheck.assert(
      FastCheck.property(cardEventArrival, ({ arrived, history }) => {
        assert.deepStrictEqual(stateAfter(arrived), stateAfter(history))
      }),
      { numRuns: 2_500 }
    )
  })

  it("Card events have the same result when all are repeated", () => {
    FastCheck.assert(
      FastCheck.property(cardEventArrival, ({ arrived, history }) => {
        assert.deepStrictEqual(stateAfter([...arrived, ...history, ...arrived]), stateAfter(arrived))
      }),
      { numRuns: 500 }
    )
  })

  it("Card events never revive an ended subscription", () => {
    FastCheck.assert(
      FastCheck.property(cardEventArrival, ({ arrived }) => {
        const over = arrived.flatMap(({ data, type }) =>
          type === "customer.subscription.deleted" && "id" in data.object ? [String(data.object.id)] : []
        )
        for (const { facts, id } of stateAfter(arrived).subscriptions)
          if (over.includes(id)) assert.isTrue(facts.ended, id)
      }),
      { numRuns: 500 }
    )
  })

  it("mergeSubscriptionFacts is associative", () => {
    FastCheck.assert(
      FastCheck.property(cardEventHistory, FastCheck.nat(), FastCheck.nat(), FastCheck.nat(), (events, i, j, k) => {
        const facts = factsOf(events)
        const [one, two, three] = [i, j, k].map((index) => facts[index % facts.length])
        if (one === undefined || two === undefined || three === undefined) return
        assert.deepStrictEqual(mergeSubscriptionFacts(one, two), mergeSubscriptionFacts(two, one))
        assert.deepStrictEqual(mergeSubscriptionFacts(one, one), one)
        assert.deepStrictEqual(
          mergeSubscriptionFacts(mergeSubscriptionFacts(one, two), three),
          mergeSubscriptionFacts(one, mergeSubscriptionFacts(two, three))
        )
      }),
      { numRuns: 1_000 }
    )
  })

  it("eventMomentOrder orders events totally, by their id last", () => {
    const moment = { strength: 2, created: 5, weight: 10, id: "evt_1" }
    assert.strictEqual(eventMomentOrder(moment, { ...moment, id: "evt_2" }), -1)
    assert.strictEqual(eventMomentOrder({ ...moment, weight: 11 }, { ...moment, id: "evt_2" }), 1)
    assert.strictEqual(eventMomentOrder({ ...moment, created: 6 }, { ...moment, weight: 99 }), 1)
    assert.strictEqual(eventMomentOrder({ ...moment, strength: 1, created: 6 }, moment), -1)
  })
})
