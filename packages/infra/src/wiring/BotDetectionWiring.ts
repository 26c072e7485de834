import { FetchHttpClient } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import * as HeuristicBotDetection from "../bots/HeuristicBotDetection.ts"
import * as DisabledBotDetection from "../bots/DisabledBotDetection.ts"
import * as TurnstileBotDetection from "../bots/TurnstileBotDetection.ts"
import type { Settings } from "../configuration/Settings.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"

/** `BOT_DETECTION`; where it is not set, production looks at requests and development lets everybody pass. */
export const selectBotDetection = ({ bots, environment }: Pick<Settings, "bots" | "environment">) =>
  Option.getOrElse(bots.detection, () => (environment === "production" ? ("heuristic" as const) : ("off" as const)))

/** What keeps programs out. */
export const fromSettings = (settings: Settings) => {
  switch (selectBotDetection(settings)) {
    case "off":
      return DisabledBotDetection.layer
    case "heuristic":
      return HeuristicBotDetection.layer
    case "turnstile":
      return Layer.unwrapEffect(
        Effect.map(
          Effect.mapError(
            settings.bots.turnstileSecret,
            () =>
              new ProgramMisconfigured({ reason: "TURNSTILE_SECRET is missing, which BOT_DETECTION=turnstile needs." })
          ),
          (secret) => TurnstileBotDetection.layer({ url: settings.bots.turnstileUrl, secret })
        )
      ).pipe(Layer.provide(FetchHttpClient.layer))
  }
}
