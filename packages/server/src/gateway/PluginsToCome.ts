import { AgentTasks } from "@berth/domain/gateway/AgentTasks"
import { PluginFailed } from "@berth/domain/gateway/PluginRun"
import { Speech } from "@berth/domain/gateway/Speech"
import { Layer, Stream } from "effect"

const away = new PluginFailed({ reason: "nobody does this here yet", nobodyWasAsked: true })

/** Stands where nothing does a plugin's work. */
export const layer = Layer.merge(
  Layer.succeed(AgentTasks, { run: () => Stream.fail(away) }),
  Layer.succeed(Speech, { speak: () => away, transcribe: () => away })
)
