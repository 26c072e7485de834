import { Button } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { SearchIcon } from "../icons.tsx"
import { Empty } from "../parts.tsx"
import { texts } from "../texts.ts"

export const LostPage = ({
  hint = texts.shell.lostHint,
  title = texts.shell.lost
}: {
  readonly title?: string
  readonly hint?: string
}) => (
  <Empty
    isPage
    icon={<SearchIcon />}
    title={title}
    action={
      <Button component={Link} to="/dashboard/agents" variant="default">
        {texts.shell.toAgents}
      </Button>
    }
  >
    {hint}
  </Empty>
)
