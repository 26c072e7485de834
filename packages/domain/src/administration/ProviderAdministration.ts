import { Duration, Effect } from "effect"
import { ModelAnswers } from "../gateway/plugins/ModelAnswers.ts"
import { DependencyUnavailable } from "../shared/DependencyUnavailable.ts"

/** Status of the model providers, as seen by the AI layer. */
export class ProviderAdministration extends Effect.Service<ProviderAdministration>()("@berth/ProviderAdministration", {
  effect: Effect.map(ModelAnswers, ({ providers }) => ({
    list: Effect.orElse(providers, () =>
      Effect.die(new DependencyUnavailable({ dependency: "the AI layer", retryAfter: Duration.seconds(5) }))
    ).pipe(Effect.withSpan("ProviderAdministration.list"))
  }))
}) {}
