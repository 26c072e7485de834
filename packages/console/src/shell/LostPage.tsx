import { Button } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { SearchIcon } from "../icons.tsx"
import { Empty } from "../parts.tsx"
import { texts } from "../texts.ts"

export const LostPage = ({ title = texts.shell.lost }: { readonly title?: string }) => (
  <Empty
    icon={<SearchIcon />}
    title={title}
    action={
      <Button component={Link} to="/dashboard/agents" variant="default">
        {texts.shell.toAgents}
      </Button>
    }
  />
)
