import { Button, Group, NumberInput, Progress, Select, Stack, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { callBilling } from "../api.ts"
import { formatDateTime } from "../format.ts"
import { ConfirmButton, Empty, Failure, Loaded, Section, useAction } from "../parts.tsx"
import { agentsQuery, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { BudgetsJson } from "../wire.ts"

type Budget = BudgetsJson["budgets"][number]
type Limit = Pick<Budget, "agentId" | "period" | "units">

const path = "/api/billing/budgets"
const periods = (["day", "month"] as const).map((value) => ({ value, label: texts.budgets.periods[value] }))
/** The value of the select for the whole account, which has no agent id. */
const account = "account"

const isSame = (one: Limit, other: Limit) => one.agentId === other.agentId && one.period === other.period
const toLimit = ({ agentId, period, units }: Limit): Limit => ({ agentId, period, units })

const BudgetForm = ({
  agents,
  onSet
}: {
  readonly agents: ReadonlyArray<{ readonly value: string; readonly label: string }>
  readonly onSet: (limit: Limit) => Promise<unknown>
}) => {
  const [agent, setAgent] = useState(account)
  const [period, setPeriod] = useState<Limit["period"]>("month")
  const [units, setUnits] = useState<number | string>("")
  const set = useAction(() => onSet({ agentId: agent === account ? null : agent, period, units: Number(units) }), {
    done: texts.budgets.done,
    onDone: () => setUnits("")
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate()
      }}
    >
      <Group align="flex-end" gap="sm" mt="md">
        <Select
          label={texts.budgets.scope}
          data={[{ value: account, label: texts.budgets.account }, ...agents]}
          value={agent}
          allowDeselect={false}
          flex="1 1 180px"
          onChange={(next) => setAgent(next ?? account)}
        />
        <Select
          label={texts.budgets.period}
          data={periods}
          value={period}
          allowDeselect={false}
          w={130}
          onChange={(next) => setPeriod(next === "day" ? "day" : "month")}
        />
        <NumberInput
          label={texts.usage.unit}
          min={0}
          max={100_000_000}
          allowDecimal={false}
          required
          w={130}
          value={units}
          onChange={setUnits}
        />
        <Button type="submit" variant="default" loading={set.isPending}>
          {texts.budgets.set}
        </Button>
      </Group>
      {set.error !== null && <Failure cause={set.error} />}
    </form>
  )
}

const BudgetRow = ({
  budget: { period, remainingUnits, renewsAt, units, usedUnits },
  name,
  onRemove
}: {
  readonly budget: Budget
  readonly name: string
  readonly onRemove: () => Promise<unknown>
}) => {
  const title = texts.budgets.named(name, texts.budgets.periods[period])
  const share = units === 0 ? 100 : Math.min(100, Math.round((100 * usedUnits) / units))
  return (
    <li>
      <Stack gap={6} className="row-text">
        <Text fw={500}>{title}</Text>
        <Progress value={share} aria-label={title} color={remainingUnits === 0 ? "red.7" : "harbor.6"} />
        <Text fz="xs" c="dimmed">
          {remainingUnits === 0 ? texts.budgets.usedUp : texts.budgets.left(remainingUnits)}{" "}
          {texts.budgets.use(usedUnits, units)} {texts.budgets.renews(formatDateTime(renewsAt))}
        </Text>
      </Stack>
      <ConfirmButton
        label={texts.remove}
        title={texts.budgets.remove(title)}
        message={texts.budgets.removeLead}
        onConfirm={onRemove}
      />
    </li>
  )
}

/** Limits on the units of the account and of its agents. */
export const BudgetsSection = () => {
  const query = useQuery({
    queryKey: ["billing", "budgets"],
    queryFn: ({ signal }) => callBilling<BudgetsJson>("GET", path, { signal })
  })
  const { data: listed } = useQuery(agentsQuery)
  const refresh = useRefresh()
  const agents = (listed?.agents ?? []).map(({ id, name }) => ({ value: id, label: name }))
  const nameOf = (agentId: string | null) =>
    agentId === null ? texts.budgets.account : (agents.find(({ value }) => value === agentId)?.label ?? agentId)
  const replace = async (limits: ReadonlyArray<Limit>) => {
    await callBilling("PUT", path, { body: { budgets: limits.map(toLimit) } })
    await refresh("billing", "budgets")
  }
  return (
    <Section title={texts.budgets.title} lead={texts.budgets.lead}>
      <Loaded query={query} rows={2}>
        {({ budgets }) => (
          <>
            {budgets.length === 0 ? (
              <Empty title={texts.budgets.none}>{texts.budgets.noneHint}</Empty>
            ) : (
              <ul className="rows" aria-label={texts.budgets.title}>
                {budgets.map((budget) => (
                  <BudgetRow
                    key={`${budget.agentId ?? account} ${budget.period}`}
                    budget={budget}
                    name={nameOf(budget.agentId)}
                    onRemove={() => replace(budgets.filter((one) => !isSame(one, budget)))}
                  />
                ))}
              </ul>
            )}
            <BudgetForm
              agents={agents}
              onSet={(limit) => replace([...budgets.filter((one) => !isSame(one, limit)), limit])}
            />
          </>
        )}
      </Loaded>
    </Section>
  )
}
