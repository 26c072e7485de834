import { Badge, Box, Button, Group, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call, callBilling } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Notice, PageHeader, Section, useAction } from "../parts.tsx"
import { billingQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import { BuyPackButton } from "./BuyPackButton.tsx"

const { plans } = texts.pricing

type Plan = (typeof settings.pricing.plans)[number]

const leave = ({ url }: { readonly url: string }) => location.assign(url)

/** The card shows the plan; the name is for assistive technologies. */
const SubscribeLabel = ({ name }: { readonly name: string }) => (
  <>
    {plans.subscribe}
    <span className="visually-hidden"> {plans.to(name)}</span>
  </>
)

const Choose = ({ plan: { id, isByLink, name } }: { readonly plan: Plan }) => {
  const take = useAction(() => call("POST", "/api/development/plan", { body: { plan: id } }), {
    // The document contains the limits of the plan. A first plan leads on to the first agent.
    onDone: () => location.assign(settings.mayProvision ? "/dashboard/plans" : "/onboarding")
  })
  if (settings.pricing.isWithoutPayment)
    return (
      <Button fullWidth variant="default" loading={take.isPending} onClick={() => take.mutate()}>
        {plans.choose(name)}
      </Button>
    )
  if (isByLink)
    return (
      <Button
        component="a"
        fullWidth
        href={`/api/cardProcessor/checkout?${new URLSearchParams({ plan: id }).toString()}`}
      >
        <SubscribeLabel name={name} />
      </Button>
    )
  return (
    <ConfirmButton
      label={`${plans.subscribe} ${plans.to(name)}`}
      title={`${plans.subscribe} ${plans.to(name)}`}
      message={plans.changeLead}
      isDestructive={false}
      onConfirm={async () =>
        leave(await callBilling("POST", "/api/billing", { body: { action: "create-checkout", plan: id } }))
      }
    >
      {(open) => (
        <Button fullWidth onClick={open}>
          <SubscribeLabel name={name} />
        </Button>
      )}
    </ConfirmButton>
  )
}

const PlanCard = ({ isCurrent, plan }: { readonly plan: Plan; readonly isCurrent: boolean }) => (
  <li>
    <article className="card" aria-current={isCurrent || undefined}>
      <Group justify="space-between" wrap="nowrap">
        <Text component="h3" fw={600} fz="md">
          {plan.name}
        </Text>
        {isCurrent && <Badge>{plans.current}</Badge>}
      </Group>
      <Text fz={26} fw={650} lh={1}>
        {plan.price}{" "}
        <Text span fz="sm" c="dimmed" fw={400}>
          {plans.perMonth}
        </Text>
      </Text>
      <ul className="features">
        {plan.features.map((feature) => (
          <li key={feature}>{feature}</li>
        ))}
      </ul>
      <Group mt="auto">{!isCurrent && <Choose plan={plan} />}</Group>
    </article>
  </li>
)

const Credits = () => (
  <Section id="credits" title={texts.usage.credits} lead={texts.pricing.creditsLead}>
    <ul className="rows">
      {settings.pricing.packs.map((pack) => (
        <li key={pack.pack}>
          <div className="row-text">
            <Text fw={500}>{texts.usage.creditsOf(pack.credits)}</Text>
            <Text fz="sm" c="dimmed">
              {texts.pricing.pack(pack.pack, pack.price)}
            </Text>
          </div>
          <BuyPackButton pack={pack} />
        </li>
      ))}
      {settings.pricing.creditLinks.map(({ credits, href }) => (
        <li key={href}>
          <Text fw={500}>{texts.usage.creditsOf(credits)}</Text>
          <Button component="a" href={href} variant="default" size="xs">
            {texts.pricing.checkout}
          </Button>
        </li>
      ))}
    </ul>
  </Section>
)

const Storage = ({ offer }: { readonly offer: string }) => {
  const upgrade = useAction(async () => leave(await call("POST", "/api/cardProcessor/storage-upgrade")))
  return (
    <Section
      title={texts.files.storage}
      lead={offer}
      actions={
        <Button variant="default" loading={upgrade.isPending} onClick={() => upgrade.mutate()}>
          {texts.pricing.checkout}
        </Button>
      }
    >
      <Text fz="sm" c="dimmed">
        {texts.pricing.storageLead(settings.storage.account)}
      </Text>
    </Section>
  )
}

/** Plans with their features, credits and storage. */
const PlansPage = () => {
  useTitle(texts.pricing.title)
  const { data: billing } = useQuery(billingQuery)
  const { isWithoutPayment, plans: sold } = settings.pricing
  return (
    <div className="page">
      <PageHeader title={texts.pricing.title} lead={texts.pricing.lead} />
      {isWithoutPayment && (
        <Box mb="md">
          <Notice>{texts.pricing.development}</Notice>
        </Box>
      )}
      {(["GBP", "USD"] as const).map((currency) => (
        <Section key={currency} title={plans.titles[currency]}>
          <ul className="cards dense" aria-label={plans.titles[currency]}>
            {sold
              .filter((plan) => plan.currency === currency)
              .map((plan) => (
                <PlanCard key={plan.id} plan={plan} isCurrent={plan.id === billing?.currentPlan} />
              ))}
          </ul>
        </Section>
      ))}
      <Credits />
      {settings.storage.upgrade !== null && <Storage offer={settings.storage.upgrade} />}
      <Section title={texts.pricing.enterprise} lead={texts.pricing.enterpriseLead}>
        <Button component="a" href="/pricing#enterprise" variant="default">
          {texts.pricing.toEnterprise}
        </Button>
      </Section>
    </div>
  )
}

export default PlansPage
