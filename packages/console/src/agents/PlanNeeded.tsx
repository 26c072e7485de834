import { Button } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { PlansIcon } from "../icons.tsx"
import { Empty, Section } from "../parts.tsx"
import { texts } from "../texts.ts"

/** Shown instead of the first agent to users without a plan. */
export const PlanNeeded = () => (
  <Section>
    <Empty
      icon={<PlansIcon />}
      title={texts.agents.choosePlan}
      action={
        <Button component={Link} to="/dashboard/plans">
          {texts.agents.choosePlan}
        </Button>
      }
    >
      {texts.agents.needsPlan}
    </Empty>
  </Section>
)
