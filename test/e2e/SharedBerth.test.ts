import { layer } from "@effect/vitest"
import { agentTasks } from "./AgentTasks.ts"
import { cardEvents } from "./CardEvents.ts"
import { consoleRestarts } from "./ConsoleRestarts.ts"
import { gateway } from "./Gateway.ts"
import { mailFiles } from "./MailFiles.ts"
import { openAiClients } from "./OpenAiClients.ts"
import { ownModelKeys } from "./OwnModelKeys.ts"
import * as SharedBerth from "./SharedBerth.ts"
import { upstreamModels } from "./UpstreamModels.ts"

layer(SharedBerth.layer, { timeout: "180 seconds", excludeTestServices: true })("One Berth", (it) => {
  // First: it reads the first mail.
  mailFiles(it)
  openAiClients(it)
  ownModelKeys(it)
  agentTasks(it)
  // Its last test restarts the server, which closes every circuit breaker.
  gateway(it)
  cardEvents(it)
  consoleRestarts(it)
  // Last: it stops the fake of OpenAI.
  upstreamModels(it)
})
