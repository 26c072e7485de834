import { useQuery } from "@tanstack/react-query"
import { agentsQuery, budgetsQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { BudgetJson } from "../wire.ts"

/** The used share from 0 to 1. */
export const findUsedShare = ({ units, usedUnits }: BudgetJson): number =>
  units === 0 ? 1 : Math.min(1, usedUnits / units)

export type BudgetState = "free" | "near" | "usedUp"

export const findBudgetState = (budget: BudgetJson): BudgetState => {
  if (settings.isBillingExempt) return "free"
  return budget.remainingUnits === 0
    ? "usedUp"
    : findUsedShare(budget) >= settings.budgets.warningShare
      ? "near"
      : "free"
}

/** Returns a function that names a budget by the account or its agent. */
export const useBudgetNames = () => {
  const { data } = useQuery(agentsQuery)
  const nameOf = (agentId: string | null) =>
    agentId === null ? texts.budgets.account : (data?.agents.find(({ id }) => id === agentId)?.name ?? agentId)
  return ({ agentId, period }: BudgetJson) => texts.budgets.named(nameOf(agentId), texts.budgets.periods[period])
}

/**
 * Returns a warning about nearly or fully used budgets, of the account and of the given agent; null if there is none.
 * It names the most urgent budget.
 */
export const useBudgetWarning = (agentId: string | undefined): string | null => {
  const { data } = useQuery({ ...budgetsQuery, enabled: !settings.isBillingExempt })
  const nameOf = useBudgetNames()
  const concerned = (data?.budgets ?? []).filter(
    (budget) => agentId === undefined || budget.agentId === null || budget.agentId === agentId
  )
  const warned = (["usedUp", "near"] as const).flatMap((state) =>
    concerned.filter((budget) => findBudgetState(budget) === state).map((budget) => ({ budget, state }))
  )
  const [first, ...others] = warned
  if (first === undefined) return null
  const { budget, state } = first
  const sentence = texts.budgets.warnings[state](nameOf(budget), budget.usedUnits, budget.units)
  return others.length === 0 ? sentence : `${sentence} ${texts.budgets.others(others.length)}`
}
