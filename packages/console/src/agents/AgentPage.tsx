import { Center, Group, Loader, Text, Title } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { type ComponentType, Suspense } from "react"
import { loadChat, usePreloadedChat } from "../chat/load.ts"
import { lazyPart } from "../lazyPart.ts"
import { Loaded, StatusTag } from "../parts.tsx"
import { agentConfigQuery, agentsQuery } from "../queries.ts"
import { LostPage } from "../shell/LostPage.tsx"
import { showChosen } from "../TabbedPage.tsx"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import type { AgentTab } from "./AgentTab.ts"
import { InstanceActions } from "./InstanceActions.tsx"
import { customModel, useModelNames } from "./overviews.ts"

/** Loaded on first use; the chat is preloaded. */
const tabs: Readonly<Record<string, ComponentType<AgentTab>>> = {
  chat: lazyPart(loadChat),
  settings: lazyPart(() => import("./SettingsTab.tsx")),
  skills: lazyPart(() => import("./SkillsTab.tsx")),
  channels: lazyPart(() => import("./ChannelsTab.tsx")),
  schedules: lazyPart(() => import("./SchedulesTab.tsx")),
  memory: lazyPart(() => import("./MemoryTab.tsx")),
  logs: lazyPart(() => import("./LogsTab.tsx")),
  stats: lazyPart(() => import("./StatsTab.tsx")),
  verification: lazyPart(() => import("./VerificationTab.tsx")),
  a2a: lazyPart(() => import("./A2aTab.tsx")),
  danger: lazyPart(() => import("./DangerTab.tsx"))
}

const Head = ({ agent: { id, model, name, status } }: AgentTab) => {
  const modelOf = useModelNames()
  const { data: modelId } = useQuery({ ...agentConfigQuery(id), select: ({ config }) => config.customModel })
  return (
    <header className="agent-head">
      <Group justify="space-between" gap="sm" mb={8} wrap="nowrap">
        <Group gap="sm" wrap="nowrap" miw={0} flex="1 1 0">
          <Title order={1} fz={20} className="truncate" title={name}>
            {name}
          </Title>
          <StatusTag value={status} />
          <Text c="dimmed" fz="xs" className="truncate" visibleFrom="sm">
            {modelOf({ id, model: model === customModel ? (modelId ?? model) : model })}
          </Text>
        </Group>
        <InstanceActions statuses={[status]} size="xs" />
      </Group>
      <nav className="tabs" ref={showChosen} aria-label={texts.agent.tabsOf(name)}>
        {Object.entries(texts.agent.tabs).map(([tab, label]) => (
          <Link key={tab} to="/dashboard/agents/$agentId/$tab" params={{ agentId: id, tab }} search={{}}>
            {label}
          </Link>
        ))}
      </nav>
    </header>
  )
}

const Body = ({ agent, tab }: AgentTab & { readonly tab: string }) => {
  useTitle(agent.name)
  const Tab = tabs[tab]
  if (Tab === undefined) return <LostPage />
  return (
    <div className="agent-page" data-tab={tab}>
      <Head agent={agent} />
      <div className="agent-body">
        <Suspense
          fallback={
            <Center h={200} role="status" aria-label={texts.loading}>
              <Loader size="sm" />
            </Center>
          }
        >
          {tab === "chat" ? (
            <Tab agent={agent} />
          ) : (
            <div className="page">
              <Tab agent={agent} />
            </div>
          )}
        </Suspense>
      </div>
    </div>
  )
}

export const AgentPage = () => {
  const { agentId = "", tab = "chat" } = useParams({ strict: false })
  const query = useQuery(agentsQuery)
  usePreloadedChat()
  if (query.data === undefined)
    return (
      <div className="page">
        <Loaded query={query}>{() => null}</Loaded>
      </div>
    )
  const agent = query.data.agents.find(({ id }) => id === agentId)
  return agent === undefined ? (
    <LostPage title={texts.agent.missing} hint={texts.agent.missingHint} />
  ) : (
    <Body key={agent.id} agent={agent} tab={tab} />
  )
}
