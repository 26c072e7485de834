import { Spotlight, type SpotlightActionData } from "@mantine/spotlight"
import { useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import {
  AgentsIcon,
  DocsIcon,
  PlansIcon,
  PlusIcon,
  SearchIcon,
  SettingsIcon,
  ShieldIcon,
  SignOutIcon,
  SunIcon,
  UsageIcon
} from "../icons.tsx"
import { useModelNames } from "../agents/overviews.ts"
import { agentsQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { signOut, useThemeSwitch } from "./commands.ts"

/** Pages, agents and commands by keyboard. */
export const Palette = () => {
  const navigate = useNavigate()
  const { data } = useQuery(agentsQuery)
  const { toggle } = useThemeSwitch()
  const modelOf = useModelNames()
  const go =
    (
      to:
        | "/dashboard/agents"
        | "/dashboard/files"
        | "/dashboard/usage"
        | "/dashboard/plans"
        | "/dashboard/settings"
        | "/dashboard/administration"
        | "/onboarding"
    ) =>
    () =>
      void navigate({ to })
  const section = (name: string) => () =>
    void navigate({ to: "/dashboard/settings/$section", params: { section: name } })
  const pages: Array<SpotlightActionData> = [
    { id: "agents", label: texts.shell.agents, onClick: go("/dashboard/agents"), leftSection: <AgentsIcon /> },
    { id: "files", label: texts.files.title, onClick: go("/dashboard/files"), leftSection: <DocsIcon /> },
    { id: "usage", label: texts.shell.usage, onClick: go("/dashboard/usage"), leftSection: <UsageIcon /> },
    { id: "plans", label: texts.pricing.title, onClick: go("/dashboard/plans"), leftSection: <PlansIcon /> },
    { id: "settings", label: texts.shell.settings, onClick: go("/dashboard/settings"), leftSection: <SettingsIcon /> },
    { id: "keys", label: texts.account.tabs.keys, onClick: section("keys"), leftSection: <SettingsIcon /> },
    { id: "webhooks", label: texts.account.tabs.webhooks, onClick: section("webhooks"), leftSection: <SettingsIcon /> },
    ...(settings.isAdministrator
      ? [
          {
            id: "administration",
            label: texts.shell.administration,
            onClick: go("/dashboard/administration"),
            leftSection: <ShieldIcon />
          }
        ]
      : [])
  ]
  const chats: Array<SpotlightActionData> = (data?.agents ?? []).map(({ id, model, name }) => ({
    id,
    label: name,
    description: modelOf({ id, model }),
    leftSection: <AgentsIcon />,
    onClick: () => void navigate({ to: "/dashboard/agents/$agentId/$tab", params: { agentId: id, tab: "chat" } })
  }))
  const { agentId } = useParams({ strict: false })
  const opened = data?.agents.find(({ id }) => id === agentId)
  const tabs: Array<SpotlightActionData> =
    opened === undefined
      ? []
      : Object.entries(texts.agent.tabs).map(([tab, label]) => ({
          id: tab,
          label,
          leftSection: <AgentsIcon />,
          onClick: () => void navigate({ to: "/dashboard/agents/$agentId/$tab", params: { agentId: opened.id, tab } })
        }))
  const commands: Array<SpotlightActionData> = [
    { id: "new-agent", label: texts.agents.create, onClick: go("/onboarding"), leftSection: <PlusIcon /> },
    { id: "theme", label: texts.shell.switchTheme, onClick: toggle, leftSection: <SunIcon /> },
    { id: "docs", label: texts.shell.docs, onClick: () => location.assign("/docs"), leftSection: <DocsIcon /> },
    { id: "sign-out", label: texts.shell.signOut, onClick: signOut, leftSection: <SignOutIcon /> }
  ]
  return (
    <Spotlight
      shortcut={["mod + K"]}
      tagsToIgnore={[]}
      limit={40}
      scrollable
      centered={false}
      yOffset="12dvh"
      attributes={{ content: { "aria-label": texts.shell.search } }}
      maxHeight={420}
      nothingFound={texts.shell.nothingFound}
      searchProps={{
        leftSection: <SearchIcon />,
        placeholder: texts.shell.searchHint,
        "aria-label": texts.shell.search
      }}
      actions={[
        ...(opened === undefined ? [] : [{ group: opened.name, actions: tabs }]),
        { group: texts.shell.pages, actions: pages },
        ...(chats.length > 0 ? [{ group: texts.shell.agents, actions: chats }] : []),
        { group: texts.shell.commands, actions: commands }
      ]}
    />
  )
}
