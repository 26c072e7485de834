import { Effect, Ref, Stream } from "effect"

export interface TestPortHandle<Call, Behavior> {
  /** All calls, oldest first. */
  readonly calls: Effect.Effect<ReadonlyArray<Call>>
  /** Replaces parts of the behavior while an effect runs. */
  readonly withBehavior: (
    behavior: Partial<Behavior>
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** Makes a handle, with the functions by which a test Layer records calls and reads the current behavior. */
export const makeTestPort = <Call, Behavior extends object>(defaults: Behavior) =>
  Effect.map(Effect.all([Ref.make<ReadonlyArray<Call>>([]), Ref.make<Behavior>(defaults)]), ([recorded, current]) => {
    const record = (call: Call) =>
      Effect.zipRight(
        Ref.update(recorded, (before) => [...before, call]),
        Ref.get(current)
      )
    const handle: TestPortHandle<Call, Behavior> = {
      calls: Ref.get(recorded),
      withBehavior: (behavior) => (effect) =>
        Effect.acquireUseRelease(
          Ref.getAndUpdate(current, (before) => ({ ...before, ...behavior })),
          () => effect,
          (before) => Ref.set(current, before)
        )
    }
    return {
      handle,
      run: <A, E, R>(call: Call, respond: (behavior: Behavior) => Effect.Effect<A, E, R>) =>
        Effect.flatMap(record(call), respond),
      stream: <A, E, R>(call: Call, respond: (behavior: Behavior) => Stream.Stream<A, E, R>) =>
        Stream.unwrap(Effect.map(record(call), respond)),
      /** Current behavior, for reads that are not recorded. */
      behavior: Ref.get(current)
    }
  })
