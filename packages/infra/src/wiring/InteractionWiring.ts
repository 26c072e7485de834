import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"

export const fromSettings = ({ priceMargin, turnBudgetUsd }: Settings) =>
  Layer.succeed(TurnSettings, { priceMargin, budgetUsd: turnBudgetUsd })
