import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { A2aMessageId } from "@berth/domain/a2a/A2aMessage"
import { A2aRepository } from "@berth/domain/a2a/A2aRepository"
import { ChannelTurns } from "@berth/domain/channels/ChannelTurns"
import { TurnBudgets } from "@berth/domain/interaction/turns/TurnBudgets"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"

it.effect("A2aDelivery.failLost ends the other lost messages when one cannot be ended", () =>
  Effect.gen(function* () {
    const ended: Array<string> = []
    const repository = Layer.mock(A2aRepository, {
      listLost: Effect.succeed([A2aMessageId.make("a2a_broken"), A2aMessageId.make("a2a_lost")]),
      finish: (id) =>
        id === "a2a_broken"
          ? Effect.dieMessage("broken")
          : Effect.as(
              Effect.sync(() => ended.push(id)),
              Option.none()
            )
    })
    const ports = Layer.mergeAll(
      repository,
      Layer.mock(ChannelTurns, {}),
      Layer.mock(TurnBudgets, { _tag: "@berth/TurnBudgets" }),
      Layer.mock(Transaction, { run: (effect) => effect })
    )
    yield* Effect.provide(
      Effect.flatMap(A2aDelivery, ({ failLost }) => failLost()),
      Layer.provide(A2aDelivery.Default, ports)
    )
    assert.deepStrictEqual(ended, ["a2a_lost"])
  })
)
