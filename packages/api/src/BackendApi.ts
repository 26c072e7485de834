import { HttpApi, OpenApi } from "@effect/platform"
import { AiApi } from "./ai/AiApi.ts"
import { OpenAiApi } from "./ai/OpenAiApi.ts"
import { CellMemoryApi } from "./cell/CellMemoryApi.ts"
import { CellModelApi } from "./cell/CellModelApi.ts"
import { ModelAnswersApi } from "./gateway/ModelAnswersApi.ts"
import { SpeechApi } from "./gateway/SpeechApi.ts"
import { requestErrors } from "./http/RequestErrors.ts"
import { AgentManagerApi } from "./instances/AgentManagerApi.ts"
import { JobsApi } from "./jobs/JobsApi.ts"

/** The private listener: the AI layer, the agent manager, and what cells ask for. */
export class BackendApi extends HttpApi.make("backend")
  .add(AiApi)
  .add(OpenAiApi)
  .add(AgentManagerApi)
  .add(CellModelApi)
  .add(CellMemoryApi)
  .add(JobsApi)
  .add(ModelAnswersApi)
  .add(SpeechApi)
  .annotateContext(
    OpenApi.annotations({
      title: "Berth backend",
      version: "1.0.0",
      description: "The AI layer, and the agent manager that owns the cells.",
      license: { name: "MIT" }
    })
  ) {
  static override readonly errorSchema = requestErrors
}
