import "./exitWithRunner.ts"
import { it, makeMethods, type Vitest } from "@effect/vitest"
import {
  Effect,
  Equal,
  flow,
  Layer,
  Logger,
  Option,
  Redacted,
  type Scope,
  TestClock,
  TestContext,
  type TestServices
} from "effect"
import { chai } from "vitest"

/** Only the clock is per test: building every service for each test takes 3 ms of processor time instead of 0.2. */
const services = Effect.runSync(Effect.scoped(Layer.build(TestContext.TestContext)))

const provideServices = <A, E>(test: Effect.Effect<A, E, TestServices.TestServices>) =>
  test.pipe(
    Effect.provide(TestClock.defaultTestClock),
    Effect.provide(services),
    Effect.provide(Logger.remove(Logger.defaultLogger))
  )

// Modules are shared by the files of a worker, and `layer` replaces methods of the one `it`: each file starts with the
// original ones.
const { effect, live, scoped } = makeMethods(it)

/** A tester whose tests and property samples get their services from `provide`. */
const makeTester = <R>(
  { each, fails, only, runIf, skip, skipIf }: Vitest.Tester<R>,
  provide: <A, E>(test: Effect.Effect<A, E, R>) => Effect.Effect<A, E>
): Vitest.Tester<R> => {
  const test: Vitest.Test<R> = (name, self, options) => live(name, (context) => provide(self(context)), options)
  const prop: Vitest.Tester<R>["prop"] = (name, arbitraries, self, options) =>
    live.prop(name, arbitraries, (...args) => provide(self(...args)), options)
  return Object.assign(test, { each, fails, only, prop, runIf, skip, skipIf })
}

Object.assign(it, {
  effect: makeTester(effect, provideServices),
  scoped: makeTester<TestServices.TestServices | Scope.Scope>(scoped, flow(Effect.scoped, provideServices))
})

/** By the members that Chai compares, `Some` equals `None`, and every `Redacted` equals every other. */
const compareEffectTypes = (left: unknown, right: unknown): boolean | null => {
  if (Option.isOption(left) && Option.isOption(right)) return left._tag === right._tag ? null : false
  return Redacted.isRedacted(left) && Redacted.isRedacted(right) ? Equal.equals(left, right) : null
}

chai.config.deepEqual = (expected, actual) => chai.util.eql(expected, actual, { comparator: compareEffectTypes })
