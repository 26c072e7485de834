import { Button, Progress, Stack, Text } from "@mantine/core"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { callBilling } from "../api.ts"
import { Form, NumberField, SelectField, useForm } from "../Form.tsx"
import { formatDateTime } from "../format.ts"
import { Empty, Loaded, offerUndo, Section, useAction } from "../parts.tsx"
import { agentsQuery, budgetsPath, budgetsQuery, useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { BudgetJson } from "../wire.ts"
import { type BudgetState, findBudgetState, findUsedShare, useBudgetNames } from "./budgets.ts"

type Limit = Pick<BudgetJson, "agentId" | "period" | "units">
type Period = Limit["period"]

const periods = (["day", "month"] as const).map((value) => ({ value, label: texts.budgets.periods[value] }))
/** The select's value for the whole account, which has no agent id. */
const account = "account"
const unset: { readonly agent: string; readonly period: Period; readonly units: number | string } = {
  agent: account,
  period: "month",
  units: ""
}

const isSame = (a: Limit, b: Limit) => a.agentId === b.agentId && a.period === b.period
const toLimit = ({ agentId, period, units }: Limit): Limit => ({ agentId, period, units })

const BudgetForm = ({ onSet }: { readonly onSet: (limit: Limit) => Promise<unknown> }) => {
  const { data: listed } = useQuery(agentsQuery)
  const agents = (listed?.agents ?? []).map(({ id, name }) => ({ value: id, label: name }))
  const form = useForm(
    unset,
    ({ agent, period, units }) => onSet({ agentId: agent === account ? null : agent, period, units: Number(units) }),
    { done: texts.budgets.done }
  )
  return (
    <Form isRow form={form} label={texts.budgets.set} variant="default">
      <SelectField
        field={form.field("agent")}
        label={texts.budgets.scope}
        data={[{ value: account, label: texts.budgets.account }, ...agents]}
        flex="1 1 180px"
      />
      <SelectField field={form.field("period")} label={texts.budgets.period} data={periods} w={130} />
      <NumberField
        field={form.field("units")}
        label={texts.usage.unit}
        min={0}
        max={settings.budgets.maximumUnits}
        required
        w={130}
      />
    </Form>
  )
}

const colors: Readonly<Record<BudgetState, string>> = { free: "harbor.6", near: "yellow.7", usedUp: "red.7" }

const BudgetRow = ({
  budget,
  onRemove,
  title
}: {
  readonly budget: BudgetJson
  readonly title: string
  readonly onRemove: () => Promise<unknown>
}) => {
  const remove = useAction(onRemove)
  const { remainingUnits, renewsAt, units, usedUnits } = budget
  const state = findBudgetState(budget)
  return (
    <li>
      <Stack gap={6} className="row-text">
        <Text fw={500}>{title}</Text>
        <Progress value={Math.round(100 * findUsedShare(budget))} aria-label={title} color={colors[state]} />
        <Text fz="xs" c="dimmed">
          {state === "usedUp" ? texts.budgets.usedUp : texts.budgets.left(remainingUnits)}{" "}
          {texts.budgets.use(usedUnits, units)} {texts.budgets.renews(formatDateTime(renewsAt))}
        </Text>
      </Stack>
      <Button
        variant="default"
        className="danger-button"
        size="xs"
        loading={remove.isPending}
        onClick={() => remove.mutate()}
      >
        {texts.remove}
      </Button>
    </li>
  )
}

/** Budgets of the account and of its agents. */
export const BudgetsSection = () => {
  const query = useQuery(budgetsQuery)
  const nameOf = useBudgetNames()
  const refresh = useRefresh()
  const client = useQueryClient()
  const replace = async (limits: ReadonlyArray<Limit>) => {
    await callBilling("PUT", budgetsPath, { body: { budgets: limits.map(toLimit) } })
    await refresh("billing", "budgets")
  }
  // Another window may have changed them.
  const readNow = () => client.query({ ...budgetsQuery, staleTime: 0 })
  const set = async (limit: Limit) => {
    const { budgets } = await readNow()
    await replace([...budgets.filter((item) => !isSame(item, limit)), limit])
  }
  const remove = async (budget: BudgetJson) => {
    const { budgets } = await readNow()
    await replace(budgets.filter((item) => !isSame(item, budget)))
    offerUndo(texts.budgets.removed(nameOf(budget)), () => set(budget))
  }
  return (
    <Section
      title={texts.budgets.title}
      lead={settings.isBillingExempt ? texts.budgets.exemptLead : texts.budgets.lead}
    >
      <Loaded query={query} rows={2}>
        {({ budgets }) => (
          <Stack gap="md">
            {budgets.length === 0 ? (
              <Empty title={texts.budgets.none}>{texts.budgets.noneHint}</Empty>
            ) : (
              <ul className="rows" aria-label={texts.budgets.title}>
                {budgets.map((budget) => (
                  <BudgetRow
                    key={`${budget.agentId ?? account} ${budget.period}`}
                    budget={budget}
                    title={nameOf(budget)}
                    onRemove={() => remove(budget)}
                  />
                ))}
              </ul>
            )}
            <BudgetForm onSet={set} />
          </Stack>
        )}
      </Loaded>
    </Section>
  )
}
