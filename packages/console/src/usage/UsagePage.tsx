import { BarChart } from "@mantine/charts"
import { Box, Button, Group, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { startTransition, useEffect, useState } from "react"
import { call, callBilling } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { shorten } from "../excerpt.ts"
import { Form, PasswordField, SelectField, useForm } from "../Form.tsx"
import { formatMoney, formatNumber } from "../format.ts"
import { UsageIcon } from "../icons.tsx"
import {
  Copy,
  DataTable,
  DateTime,
  Empty,
  Figure,
  Loaded,
  Loading,
  PageHeader,
  Pages,
  Section,
  useAction
} from "../parts.tsx"
import { accountQuery, billingHistoryQuery, billingQuery, historyPage, useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import type { BillingJson, BillingUsageJson, ReferralJson } from "../wire.ts"
import { BudgetsSection } from "./BudgetsSection.tsx"
import { findPlanName } from "./plans.ts"
import { fillDays } from "./days.ts"

const rowsShown = 15

const Figures = ({ billing }: { readonly billing: BillingJson }) => {
  const { subscriptionStatus, usage } = billing
  const { data: account } = useQuery(accountQuery)
  return (
    <dl className="figures">
      {!settings.isBillingExempt && (
        <>
          <Figure
            label={texts.shell.unitsToday}
            value={texts.usage.ofUnits(usage.used, usage.dailyUnits)}
            hint={texts.usage.resets}
          />
          <Figure label={texts.usage.left} value={formatNumber(usage.remaining)} hint={texts.usage.unitHint} />
        </>
      )}
      <Figure
        label={texts.usage.plan}
        value={findPlanName(billing)}
        hint={texts.subscriptionStatuses[subscriptionStatus] ?? subscriptionStatus}
      />
      <Figure
        label={texts.usage.credits}
        value={account === undefined ? "…" : formatNumber(account.credits)}
        hint={texts.usage.creditHint}
      />
    </dl>
  )
}

const chartRows = 8
const longestLabel = 18

/** Shortens a name to one line next to its bar; the list below the chart shows it completely. */
const shortenName = (name: string) => shorten(name, longestLabel)

/** As `shortenName`, without the vendors before the model. */
const shortenModel = (name: string) => shortenName(name.slice(name.lastIndexOf("/") + 1))

const UnitChart = ({
  bars,
  isVertical = false,
  lead,
  tickOf = shortenName,
  title
}: {
  readonly title: string
  readonly lead: string
  readonly bars: ReadonlyArray<{ readonly name: string; readonly units: number }>
  readonly isVertical?: boolean
  readonly tickOf?: (name: string) => string
}) => {
  // Rendered interruptibly, after the page: three charts at once are one long task.
  const [isShown, show] = useState(false)
  useEffect(() => startTransition(() => show(true)), [])
  return (
    <Section title={title} lead={lead}>
      <Box h={220}>
        {isShown && (
          <BarChart
            h={220}
            withTooltip
            valueFormatter={texts.usage.units}
            barChartProps={{ accessibilityLayer: false }}
            maxBarWidth={40}
            data={[...bars]}
            dataKey="name"
            orientation={isVertical ? "vertical" : "horizontal"}
            gridAxis={isVertical ? "y" : "x"}
            xAxisProps={{ allowDecimals: false, tickFormatter: isVertical ? formatNumber : String }}
            yAxisProps={{
              allowDecimals: false,
              width: isVertical ? 130 : 40,
              tickFormatter: isVertical ? tickOf : formatNumber
            }}
            series={[{ name: "units", label: texts.usage.unit, color: isVertical ? "harbor.4" : "harbor.6" }]}
          />
        )}
      </Box>
      <p className="visually-hidden">
        {bars.map(({ name, units }) => `${name}: ${texts.usage.units(units)}`).join(", ")}
      </p>
    </Section>
  )
}

const Charts = ({ usage: { agents, days, models, totalDays } }: { readonly usage: BillingUsageJson }) => {
  const lead = texts.usage.days(totalDays)
  if (days.length === 0)
    return (
      <Section title={texts.usage.byDay}>
        <Empty icon={<UsageIcon />} title={texts.usage.none}>
          {settings.isBillingExempt ? texts.usage.exemptHint : texts.usage.noneHint}
        </Empty>
      </Section>
    )
  return (
    <>
      <UnitChart
        title={texts.usage.byDay}
        lead={lead}
        bars={fillDays(days, totalDays, Date.now()).map(({ day, units }) => ({ name: day, units }))}
      />
      <div className="halves">
        <UnitChart
          isVertical
          title={texts.usage.byAgent}
          lead={lead}
          bars={agents
            .slice(0, chartRows)
            .map(({ name, units }) => ({ name: name ?? texts.usage.withoutAgent, units }))}
        />
        <UnitChart
          isVertical
          tickOf={shortenModel}
          title={texts.usage.byModel}
          lead={lead}
          bars={models
            .slice(0, chartRows)
            .map(({ model, units }) => ({ name: model ?? texts.usage.withoutModel, units }))}
        />
      </div>
    </>
  )
}

const formatUnlessZero = (value: number) => (value === 0 ? "" : formatNumber(value))

const HistoryTable = () => {
  const [page, setPage] = useState(1)
  const first = (page - 1) * rowsShown
  const offset = Math.floor(first / historyPage) * historyPage
  const query = useQuery(billingHistoryQuery(offset))
  return (
    <Section title={texts.usage.history} lead={texts.usage.historyLead}>
      <Loaded query={query}>
        {({ entries, total }) =>
          total === 0 ? (
            <Empty title={texts.usage.noHistory} />
          ) : (
            <>
              <DataTable
                label={texts.usage.history}
                rows={entries.slice(first - offset, first - offset + rowsShown)}
                keyOf={({ id, kind }) => `${kind}-${id}`}
                columns={[
                  { title: texts.usage.when, render: ({ createdAt }) => <DateTime at={createdAt} /> },
                  { title: texts.usage.cause, render: ({ description }) => description },
                  { title: texts.usage.unit, isRight: true, render: ({ units }) => formatUnlessZero(units) },
                  { title: texts.usage.credits, isRight: true, render: ({ credits }) => formatUnlessZero(credits) },
                  {
                    title: texts.usage.amount,
                    isRight: true,
                    render: ({ amount, currency }) =>
                      amount === null || currency === null ? "" : formatMoney(amount, currency)
                  }
                ]}
              />
              <Pages total={total} perPage={rowsShown} page={page} onChange={setPage} />
            </>
          )
        }
      </Loaded>
    </Section>
  )
}

const leave = ({ url }: { readonly url: string }) => location.assign(url)

const Plans = () => {
  const portal = useAction(async () => leave(await callBilling("POST", "/api/billing", { body: { action: "portal" } })))
  return (
    <Section title={texts.usage.plansTitle} lead={texts.usage.plansLead}>
      <Group gap="xs">
        <Button component={Link} to="/dashboard/plans">
          {texts.usage.comparePlans}
        </Button>
        <Button component={Link} to="/dashboard/plans" hash="credits" variant="default">
          {texts.usage.buyCredits}
        </Button>
        <Button variant="default" loading={portal.isPending} onClick={() => portal.mutate()}>
          {texts.usage.portal}
        </Button>
      </Group>
    </Section>
  )
}

const providers = (["openrouter", "anthropic", "openai", "google", "groq"] as const).map((value) => ({
  value,
  label: texts.providers[value]
}))

const OwnKey = ({ isEnabled }: { readonly isEnabled: boolean }) => {
  const refresh = useRefresh()
  const form = useForm(
    { provider: "openrouter", apiKey: "" },
    (key) => callBilling("POST", "/api/billing", { body: { action: "enable-byok", ...key } }),
    { done: texts.usage.keyEnabled, onDone: () => refresh("billing") }
  )
  return (
    <Section title={texts.usage.ownKey} lead={texts.usage.ownKeyLead}>
      {isEnabled && (
        <Group mb="md" justify="space-between">
          <Text fz="sm">{texts.usage.keyInUse}</Text>
          <ConfirmButton
            label={texts.usage.disableKey}
            title={texts.usage.disableKey}
            message={texts.usage.disableKeyLead}
            onConfirm={async () => {
              await callBilling("POST", "/api/billing", { body: { action: "disable-byok" } })
              await refresh("billing")
            }}
          />
        </Group>
      )}
      <Form isRow form={form} label={texts.usage.enableKey} variant="default">
        <SelectField field={form.field("provider")} label={texts.usage.provider} data={providers} />
        <PasswordField
          field={form.field("apiKey")}
          label={texts.usage.key}
          flex="1 1 220px"
          autoComplete="off"
          required
        />
      </Form>
    </Section>
  )
}

const Referrals = () => {
  const query = useQuery({
    queryKey: ["referral"],
    queryFn: ({ signal }) => call<ReferralJson>("GET", "/api/settings/referral", { signal })
  })
  return (
    <Section title={texts.usage.referrals} lead={texts.usage.referralsLead}>
      <Loaded query={query} rows={1}>
        {({ code, credits, earnedCredits, pending, referrals }) => (
          <dl className="facts">
            <dt>{texts.usage.code}</dt>
            <dd>
              <Group gap={4}>
                <code>{code}</code>
                <Copy value={code} label={texts.copy} />
              </Group>
            </dd>
            <dt>{texts.usage.perReferral}</dt>
            <dd>{texts.usage.creditsOf(credits)}</dd>
            <dt>{texts.usage.registered}</dt>
            <dd>{texts.usage.registeredOf(referrals, pending)}</dd>
            <dt>{texts.usage.earned}</dt>
            <dd>{texts.usage.creditsOf(earnedCredits)}</dd>
          </dl>
        )}
      </Loaded>
    </Section>
  )
}

/** Units, plan and money; shown at once, so that late charts move nothing. */
const UsagePage = () => {
  useTitle(texts.shell.usage)
  const billing = useQuery(billingQuery)
  const usage = useQuery({
    queryKey: ["billing", "usage"],
    queryFn: ({ signal }) => callBilling<BillingUsageJson>("GET", "/api/billing/usage", { signal })
  })
  return (
    <div className="page">
      <PageHeader title={texts.shell.usage} lead={texts.usage.lead} />
      {billing.isPending || usage.isPending ? (
        <Loading rows={6} />
      ) : (
        <>
          <Loaded query={billing}>{(found) => <Figures billing={found} />}</Loaded>
          <Loaded query={usage}>{(found) => <Charts usage={found} />}</Loaded>
          <BudgetsSection />
          <Plans />
          <HistoryTable />
          {billing.data !== undefined && <OwnKey isEnabled={billing.data.byokEnabled} />}
          <Referrals />
        </>
      )}
    </div>
  )
}

export default UsagePage
