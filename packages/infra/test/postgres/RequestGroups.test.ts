import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { makeRequestGroups, skipFailedGroup } from "@berth/infra/postgres/RequestGroups"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, Option } from "effect"

interface Request {
  readonly id: string
}

/** Kinds of requests that record their groups, and answer all ids but `unknown` when the test lets them. */
const makeKinds = Effect.gen(function* () {
  const groupRequests = yield* makeRequestGroups
  const groups: Array<string> = []
  const mayAnswer = yield* Effect.makeLatch()
  const executeAs = (kind: string) => (requests: ReadonlyArray<Request>) =>
    Effect.gen(function* () {
      groups.push([kind, ...requests.map(({ id }) => id)].join(" "))
      yield* mayAnswer.await
      if (requests.some(({ id }) => id === "broken")) return yield* Effect.dieMessage("broken")
      const answered = requests.filter(({ id }) => id !== "unknown")
      return new Map(answered.map(({ id }) => [id, `${kind} of ${id}`]))
    })
  return { groupRequests, executeAs, groups, mayAnswer }
})

const startInOrder = <A>(requests: ReadonlyArray<Effect.Effect<A>>) =>
  Effect.forEach(requests, (request) => Effect.tap(Effect.fork(request), Effect.yieldNow()))

const inGroups = Effect.provideService(SpanExportEnabled, false)

it.effect("Requests that arrive while a group runs form the next one, in turn with other kinds", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, groups, mayAnswer } = yield* makeKinds
    const [read, write] = [groupRequests(executeAs("read")), groupRequests(executeAs("write"))]
    const callers = yield* startInOrder([
      read({ id: "a" }),
      read({ id: "b" }),
      write({ id: "c" }),
      read({ id: "unknown" }),
      write({ id: "d" })
    ])
    assert.deepStrictEqual(groups, ["read a"])
    yield* mayAnswer.open
    assert.deepStrictEqual(yield* Fiber.join(Fiber.all(callers)), [
      Option.some("read of a"),
      Option.some("read of b"),
      Option.some("write of c"),
      Option.none(),
      Option.some("write of d")
    ])
    assert.deepStrictEqual(groups, ["read a", "write c d", "read b unknown"])
    assert.deepStrictEqual(yield* write({ id: "e" }), Option.some("write of e"))
  }).pipe(inGroups)
)

it.effect("A group has at most a hundred requests", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, groups, mayAnswer } = yield* makeKinds
    const read = groupRequests(executeAs("read"))
    const callers = yield* startInOrder(Array.from({ length: 152 }, (_, n) => read({ id: String(n) })))
    yield* mayAnswer.open
    yield* Fiber.join(Fiber.all(callers))
    assert.deepStrictEqual(
      groups.map((group) => group.split(" ").length - 1),
      [1, 100, 51]
    )
  }).pipe(inGroups)
)

it.effect("A group that fails, fails for its requests only", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, mayAnswer } = yield* makeKinds
    const [read, write] = [groupRequests(executeAs("read")), groupRequests(skipFailedGroup(executeAs("write")))]
    const callers = yield* startInOrder(
      [write({ id: "a" }), read({ id: "b" }), read({ id: "broken" }), write({ id: "broken" })].map(Effect.exit)
    )
    yield* mayAnswer.open
    const [first, other, broken, skipped] = yield* Fiber.join(Fiber.all(callers))
    assert.deepStrictEqual(first, Exit.succeed(Option.some("write of a")))
    assert.isTrue(other !== undefined && Exit.isFailure(other))
    assert.isTrue(broken !== undefined && Exit.isFailure(broken))
    assert.deepStrictEqual(skipped, Exit.succeed(Option.none()))
    assert.deepStrictEqual(yield* read({ id: "c" }), Option.some("read of c"))
  }).pipe(inGroups, Effect.provide(Logger.remove(Logger.defaultLogger)))
)

it.effect("A caller that is interrupted delays no other request", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, mayAnswer } = yield* makeKinds
    const read = groupRequests(executeAs("read"))
    const [first, second, third] = yield* startInOrder([read({ id: "a" }), read({ id: "b" }), read({ id: "c" })])
    if (first === undefined || second === undefined || third === undefined) return assert.fail("three are started")
    yield* Fiber.interruptAll([first, second])
    yield* mayAnswer.open
    assert.deepStrictEqual(yield* Fiber.join(third), Option.some("read of c"))
  }).pipe(inGroups)
)

it.effect("A request of an exported trace waits for no group", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, groups } = yield* makeKinds
    const read = groupRequests(executeAs("read"))
    const callers = yield* startInOrder([inGroups(read({ id: "a" })), read({ id: "b" }), inGroups(read({ id: "c" }))])
    assert.deepStrictEqual(groups, ["read a", "read b"])
    yield* Fiber.interruptAll(callers)
  })
)
