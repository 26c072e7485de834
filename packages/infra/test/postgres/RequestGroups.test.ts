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
  const [isRunning, mayAnswer] = [yield* Effect.makeLatch(), yield* Effect.makeLatch()]
  const executeAs = (kind: string) => (requests: ReadonlyArray<Request>) =>
    Effect.gen(function* () {
      groups.push([kind, ...requests.map(({ id }) => id)].join(" "))
      yield* isRunning.open
      yield* mayAnswer.await
      if (requests.some(({ id }) => id === "broken")) return yield* Effect.dieMessage("broken")
      const answered = requests.filter(({ id }) => id !== "unknown")
      return answered.map(({ id }): readonly [string, string] => [id, `${kind} of ${id}`])
    })
  return { groupRequests, executeAs, groups, isRunning, mayAnswer }
})

const startInOrder = <A>(requests: ReadonlyArray<Effect.Effect<A>>) =>
  Effect.forEach(requests, (request) => Effect.tap(Effect.fork(request), Effect.yieldNow()))

const inGroups = Effect.provideService(SpanExportEnabled, false)

it.effect("Requests that arrive while a group runs form the next one, in turn with other kinds", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, groups, isRunning, mayAnswer } = yield* makeKinds
    const [read, write] = [groupRequests(executeAs("read")), groupRequests(executeAs("write"))]
    const first = yield* startInOrder([read({ id: "a" }), read({ id: "b" })])
    yield* isRunning.await
    const next = yield* startInOrder([
      read({ id: "c" }),
      write({ id: "d" }),
      read({ id: "unknown" }),
      write({ id: "e" })
    ])
    assert.deepStrictEqual(groups, ["read a b"])
    yield* mayAnswer.open
    assert.deepStrictEqual(yield* Fiber.join(Fiber.all([...first, ...next])), [
      Option.some("read of a"),
      Option.some("read of b"),
      Option.some("read of c"),
      Option.some("write of d"),
      Option.none(),
      Option.some("write of e")
    ])
    assert.deepStrictEqual(groups, ["read a b", "write d e", "read c unknown"])
    assert.deepStrictEqual(yield* write({ id: "f" }), Option.some("write of f"))
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
      [100, 52]
    )
  }).pipe(inGroups)
)

it.effect("A group that fails, fails for its requests only", () =>
  Effect.gen(function* () {
    const { executeAs, groupRequests, isRunning, mayAnswer } = yield* makeKinds
    const [read, write] = [groupRequests(executeAs("read")), groupRequests(skipFailedGroup(executeAs("write")))]
    const first = yield* startInOrder([Effect.exit(read({ id: "a" }))])
    yield* isRunning.await
    const next = yield* startInOrder(
      [read({ id: "b" }), read({ id: "broken" }), write({ id: "broken" })].map(Effect.exit)
    )
    yield* mayAnswer.open
    const [before, other, broken, skipped] = yield* Fiber.join(Fiber.all([...first, ...next]))
    assert.deepStrictEqual(before, Exit.succeed(Option.some("read of a")))
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
    const { executeAs, groupRequests, groups, isRunning } = yield* makeKinds
    const read = groupRequests(executeAs("read"))
    const first = yield* startInOrder([inGroups(read({ id: "a" }))])
    yield* isRunning.await
    const next = yield* startInOrder([inGroups(read({ id: "b" })), read({ id: "c" })])
    assert.deepStrictEqual(groups, ["read a", "read c"])
    yield* Fiber.interruptAll([...first, ...next])
  })
)
