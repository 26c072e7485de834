import { addServices } from "@berth/server/http/RequestRouter"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FiberRef, Option } from "effect"

class Port extends Context.Tag("Port")<Port, string>() {}

describe("The context of a request", () => {
  it.effect("The context of a request has its services, which those of its handler's layer do not replace", () =>
    Effect.gen(function* () {
      yield* addServices(Context.make(Port, "Bergen"))
      yield* addServices(Context.make(Port, "Oslo"))
      const context = yield* FiberRef.get(FiberRef.currentContext)
      assert.deepStrictEqual(Context.getOption(context, Port), Option.some("Bergen"))
    })
  )
})
