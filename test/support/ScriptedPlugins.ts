import { type AgentTask, AgentTasks } from "@berth/domain/gateway/AgentTasks"
import type { PluginEvent, PluginRun } from "@berth/domain/gateway/PluginRun"
import { type Recording, Speech, type SpokenText } from "@berth/domain/gateway/Speech"
import { Context, Effect, Layer, Ref, Stream } from "effect"

export interface PluginScript {
  readonly agent: (task: AgentTask) => PluginRun
  readonly speak: (spoken: SpokenText) => ReturnType<Speech["Type"]["speak"]>
  readonly transcribe: (recording: Recording) => ReturnType<Speech["Type"]["transcribe"]>
}

/** What a test says that agents and speech do. */
export class ScriptedPlugins extends Context.Tag("@berth/test/ScriptedPlugins")<
  ScriptedPlugins,
  {
    /** Runs an effect while the plugins do what is given; without a script they are well. */
    readonly during: (
      script: Partial<PluginScript>
    ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** What was asked of them so far, in order. */
    readonly asked: Effect.Effect<ReadonlyArray<AgentTask | SpokenText | Recording>>
  }
>() {}

const done: ReadonlyArray<PluginEvent> = [
  { type: "delta", text: "It is " },
  { type: "delta", text: "done." },
  { type: "done", message: "It is done.", tokens: null, ownKey: false }
]

const allWell: PluginScript = {
  agent: () => Stream.fromIterable(done),
  speak: ({ text }) =>
    Effect.succeed({ audio: new TextEncoder().encode(text), contentType: "audio/mpeg", ownKey: false }),
  transcribe: ({ audio }) => Effect.succeed({ text: `${audio.length} bytes`, ownKey: false })
}

export const layer: Layer.Layer<AgentTasks | Speech | ScriptedPlugins> = Layer.effectContext(
  Effect.gen(function* () {
    const script = yield* Ref.make<Partial<PluginScript>>({})
    const asked = yield* Ref.make<ReadonlyArray<AgentTask | SpokenText | Recording>>([])
    const now = Effect.map(script, (given): PluginScript => ({ ...allWell, ...given }))
    const note = (call: AgentTask | SpokenText | Recording) => Ref.update(asked, (before) => [...before, call])
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
        speak: (spoken) =>
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
      Context.add(ScriptedPlugins, {
        asked,
        during: (given) => (effect) =>
          Effect.acquireUseRelease(
            Ref.getAndSet(script, given),
            () => effect,
            (before) => Ref.set(script, before)
          )
      })
    )
  })
)
