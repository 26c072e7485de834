import { HttpApi } from "@effect/platform"
import { AiApi } from "./ai/AiApi.ts"
import { OpenAiApi } from "./ai/OpenAiApi.ts"
import { RuntimeModelApi } from "./runtime/RuntimeModelApi.ts"
import { RuntimeToolsApi } from "./runtime/RuntimeToolsApi.ts"
import { ChannelTurnsApi } from "./channels/ChannelTurnsApi.ts"
import { ModelAnswersApi } from "./gateway/plugins/ModelAnswersApi.ts"
import { SpeechApi } from "./gateway/speech/SpeechApi.ts"
import { BackendProvisioningApi } from "./provisioning/BackendProvisioningApi.ts"
import { describeApi } from "./http/OpenApiDocument.ts"
import { requestErrors } from "./http/RequestErrors.ts"
import { AgentManagerApi } from "./instances/AgentManagerApi.ts"
import { JobsApi } from "./jobs/JobsApi.ts"

/** The private API: AI layer, agent manager, and the routes of runtimes. */
export class BackendApi extends HttpApi.make("backend")
  .add(AiApi)
  .add(OpenAiApi)
  .add(AgentManagerApi)
  .add(RuntimeModelApi)
  .add(RuntimeToolsApi)
  .add(JobsApi)
  .add(ModelAnswersApi)
  .add(SpeechApi)
  .add(BackendProvisioningApi)
  .add(ChannelTurnsApi)
  .annotateContext(
    describeApi({ title: "Berth backend", description: "AI layer and agent manager." }, { hasOriginCheck: false })
  ) {
  static override readonly errorSchema = requestErrors
}

/** Only the routes of runtimes. Named like the backend API, so that the same handlers serve it. */
export class RuntimeRoutesApi extends HttpApi.make("backend").add(RuntimeModelApi).add(RuntimeToolsApi) {
  static override readonly errorSchema = requestErrors
}
