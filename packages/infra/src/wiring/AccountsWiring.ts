import { AccountPolicy } from "@berth/domain/accounts/AccountPolicy"
import { Credits } from "@berth/domain/shared/Money"
import { FetchHttpClient } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import * as DisabledBotDetection from "../bots/DisabledBotDetection.ts"
import * as HeuristicBotDetection from "../bots/HeuristicBotDetection.ts"
import * as TurnstileBotDetection from "../bots/TurnstileBotDetection.ts"
import type { Settings } from "../configuration/Settings.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"

/** Operator settings of accounts. */
export const layer = (
  rules: Omit<AccountPolicy["Type"], "walletEmailDomain" | "socialEmailDomain" | "unclaimedEmailDomain">
) =>
  Layer.succeed(AccountPolicy, {
    ...rules,
    walletEmailDomain: `wallet.${rules.appUrl.hostname}`,
    socialEmailDomain: `social.${rules.appUrl.hostname}`,
    unclaimedEmailDomain: `unclaimed.${rules.appUrl.hostname}`
  })

export const fromSettings = ({ addresses, environment, referralCredits }: Settings) =>
  layer({
    referralCredits: Credits(referralCredits),
    appUrl: addresses.appUrl,
    verifiedEmailsOnly: environment === "production"
  })

/** `BOT_DETECTION`; default: `heuristic` in production, `off` in development. */
export const selectBotDetection = ({ bots, environment }: Pick<Settings, "bots" | "environment">) =>
  Option.getOrElse(bots.detection, () => (environment === "production" ? ("heuristic" as const) : ("off" as const)))

export const botDetectionFromSettings = (settings: Settings) => {
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
              new ProgramMisconfigured({ reason: "Set `TURNSTILE_SECRET`, which BOT_DETECTION=turnstile requires." })
          ),
          (secret) => TurnstileBotDetection.layer({ url: settings.bots.turnstileUrl, secret })
        )
      ).pipe(Layer.provide(FetchHttpClient.layer))
  }
}
