import { Button } from "@mantine/core"
import { UsageIcon } from "../icons.tsx"
import { Empty, Section } from "../parts.tsx"
import { texts } from "../texts.ts"

/** In place of the first agent, for users without a plan. */
export const PlanNeeded = () => (
  <Section>
    <Empty
      icon={<UsageIcon />}
      title={texts.agents.choosePlan}
      action={
        <Button component="a" href="/pricing">
          {texts.agents.choosePlan}
        </Button>
      }
    >
      {texts.agents.needsPlan}
    </Empty>
  </Section>
)
