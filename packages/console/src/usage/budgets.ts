import { useQuery } from "@tanstack/react-query"
import { agentsQuery, budgetsQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { BudgetJson } from "../wire.ts"

/** The used share from 0 to 1. */
export const findUsedShare = ({ units, usedUnits }: BudgetJson): number =>
  units === 0 ? 1 : Math.min(1, usedUnits / units)

export type BudgetState = "free" | "near" | "usedUp"

export const findBudgetState = (budget: BudgetJson): BudgetState =>
  budget.remainingUnits === 0 ? "usedUp" : findUsedShare(budget) >= settings.budgets.warningShare ? "near" : "free"

/** Names a budget by the account or its agent. */
export const useBudgetNames = () => {
  const { data } = useQuery(agentsQuery)
  const nameOf = (agentId: string | null) =>
    agentId === null ? texts.budgets.account : (data?.agents.find(({ id }) => id === agentId)?.name ?? agentId)
  return ({ agentId, period }: BudgetJson) => texts.budgets.named(nameOf(agentId), texts.budgets.periods[period])
}

/** Sentences about the budgets that are nearly or wholly used up: of the account, and of an agent where one is given. */
export const useBudgetWarnings = (agentId: string | undefined): ReadonlyArray<string> => {
  const { data } = useQuery(budgetsQuery)
  const nameOf = useBudgetNames()
  return (data?.budgets ?? [])
    .filter((budget) => agentId === undefined || budget.agentId === null || budget.agentId === agentId)
    .flatMap((budget) => {
      const state = findBudgetState(budget)
      return state === "free" ? [] : [texts.budgets.warnings[state](nameOf(budget), budget.usedUnits, budget.units)]
    })
}
