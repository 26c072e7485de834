import { type AgentTask, AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import type { PluginResult } from "@berth/domain/gateway/plugins/PluginRun"
import { makeTestPort, type TestPortHandle } from "@berth/infra/testing/TestPort"
import { Context, Effect, Layer, Stream } from "effect"

/** Behavior and recorded calls of the agent tasks of `layer`. */
export class FakeAgentTasks extends Context.Tag("@berth/test/FakeAgentTasks")<
  FakeAgentTasks,
  TestPortHandle<AgentTask, AgentTasks["Type"]>
>() {}

const done: ReadonlyArray<ModelDelta | PluginResult> = [
  { type: "delta", text: "It is " },
  { type: "delta", text: "done." },
  {
    type: "done",
    message: "It is done.",
    tokens: null,
    costUsd: null,
    ownKey: false,
    answeredBy: { model: "sandbox/echo", provider: "sandbox" }
  }
]

/** Agent tasks that complete immediately, without a model. */
export const layer: Layer.Layer<AgentTasks | FakeAgentTasks> = Layer.effectContext(
  Effect.map(
    makeTestPort<AgentTask, AgentTasks["Type"]>({
      run: () => Stream.fromIterable(done),
      usesOwnKeys: () => Effect.succeed(false)
    }),
    ({ behavior, handle, stream }) =>
      Context.make(AgentTasks, {
        run: (task) => stream(task, ({ run }) => run(task)),
        usesOwnKeys: (task) => Effect.flatMap(behavior, ({ usesOwnKeys }) => usesOwnKeys(task))
      }).pipe(Context.add(FakeAgentTasks, handle))
  )
)
