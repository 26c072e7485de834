import { type AgentTask, AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import type { PluginEvent, PluginRun } from "@berth/domain/gateway/plugins/PluginRun"
import { type Recording, Speech, type SpeechInput } from "@berth/domain/gateway/speech/Speech"
import { Context, Effect, Layer, Ref, Stream } from "effect"

export interface PluginBehavior {
  readonly agent: (task: AgentTask) => PluginRun
  readonly speak: (spoken: SpeechInput) => ReturnType<Speech["Type"]["synthesize"]>
  readonly transcribe: (recording: Recording) => ReturnType<Speech["Type"]["transcribe"]>
}

/** Plugins whose behavior a test sets. */
export class FakePlugins extends Context.Tag("@berth/test/FakePlugins")<
  FakePlugins,
  {
    /** Runs an effect while the plugins do what is given; without a script they are well. */
    readonly withBehavior: (
      script: Partial<PluginBehavior>
    ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** The calls so far, in order. */
    readonly calls: Effect.Effect<ReadonlyArray<AgentTask | SpeechInput | Recording>>
  }
>() {}

const done: ReadonlyArray<PluginEvent> = [
  { type: "delta", text: "It is " },
  { type: "delta", text: "done." },
  { type: "done", message: "It is done.", tokens: null, costUsd: null, ownKey: false }
]

const defaultBehavior: PluginBehavior = {
  agent: () => Stream.fromIterable(done),
  speak: ({ text }) =>
    Effect.succeed({ audio: new TextEncoder().encode(text), contentType: "audio/mpeg", ownKey: false }),
  transcribe: ({ audio }) => Effect.succeed({ text: `${audio.length} bytes`, ownKey: false })
}

export const layer: Layer.Layer<AgentTasks | Speech | FakePlugins> = Layer.effectContext(
  Effect.gen(function* () {
    const script = yield* Ref.make<Partial<PluginBehavior>>({})
    const asked = yield* Ref.make<ReadonlyArray<AgentTask | SpeechInput | Recording>>([])
    const now = Effect.map(script, (given): PluginBehavior => ({ ...defaultBehavior, ...given }))
    const note = (call: AgentTask | SpeechInput | Recording) => Ref.update(asked, (before) => [...before, call])
    return Context.make(AgentTasks, {
      run: (task) =>
        Stream.unwrap(
          Effect.zipRight(
            note(task),
            Effect.map(now, ({ agent }) => agent(task))
          )
        )
    }).pipe(
      Context.add(Speech, {
        synthesize: (spoken) =>
          Effect.zipRight(
            note(spoken),
            Effect.flatMap(now, ({ speak }) => speak(spoken))
          ),
        transcribe: (recording) =>
          Effect.zipRight(
            note(recording),
            Effect.flatMap(now, ({ transcribe }) => transcribe(recording))
          )
      }),
      Context.add(FakePlugins, {
        calls: asked,
        withBehavior: (given) => (effect) =>
          Effect.acquireUseRelease(
            Ref.getAndSet(script, given),
            () => effect,
            (before) => Ref.set(script, before)
          )
      })
    )
  })
)
