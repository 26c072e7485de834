import { Anchor, Box } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { CreateAgentForm } from "../agents/CreateAgent.tsx"
import { PlanNeeded } from "../agents/PlanNeeded.tsx"
import { Notice, PageHeader, Section } from "../parts.tsx"
import { agentsQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"

const Steps = ({ current }: { readonly current: number }) => (
  <ol className="steps" aria-label={texts.onboarding.steps}>
    {texts.onboarding.stepNames.map((name, step) => (
      <li key={name} data-done={step < current || undefined} aria-current={step === current ? "step" : undefined}>
        {name}
      </li>
    ))}
  </ol>
)

/** Plan, first agent, then a chat with it. */
const OnboardingPage = () => {
  useTitle(texts.onboarding.title)
  const { data } = useQuery(agentsQuery)
  const { mayProvision } = settings
  return (
    <div className="page narrow">
      <PageHeader title={texts.onboarding.title} lead={texts.onboarding.lead} />
      <Steps current={mayProvision ? 2 : 1} />
      {mayProvision ? (
        <Section title={texts.agents.none}>
          {data !== undefined && data.agents.length > 0 && (
            <Box mb="md">
              <Notice>
                {texts.onboarding.hasAgent}{" "}
                <Anchor inherit underline="always" component={Link} to="/dashboard">
                  {texts.shell.toAgents}
                </Anchor>
              </Notice>
            </Box>
          )}
          <CreateAgentForm />
        </Section>
      ) : (
        <PlanNeeded />
      )}
    </div>
  )
}

export default OnboardingPage
