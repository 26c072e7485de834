import { Button, Group, Text, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { usePreloadedChat } from "../chat/load.ts"
import { toPlainText } from "../excerpt.ts"
import { AgentsIcon, PlansIcon, PlusIcon, SearchIcon } from "../icons.tsx"
import { Empty, Loaded, Moment, PageHeader, Pages, StatusTag } from "../parts.tsx"
import { agentsQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import type { AgentItemJson } from "../wire.ts"
import { ClaimNotice } from "./ClaimNotice.tsx"
import { CreateAgent } from "./CreateAgent.tsx"
import { InstanceActions } from "./InstanceActions.tsx"
import { PlanNeeded } from "./PlanNeeded.tsx"
import { useModelNames, useOverview } from "./overviews.ts"

const perPage = 24
const searchFrom = 8

const AgentCard = ({ agent }: { readonly agent: AgentItemJson }) => {
  const { id, name, status } = agent
  const overview = useOverview(id)
  const modelOf = useModelNames()
  const message = overview?.lastMessage
  const units = overview?.unitsToday ?? 0
  return (
    <li>
      <article className="card">
        <Group justify="space-between" wrap="nowrap" gap="sm">
          <Link
            to="/dashboard/agents/$agentId/$tab"
            params={{ agentId: id, tab: "chat" }}
            className="card-link truncate"
            title={name}
          >
            {name}
          </Link>
          <StatusTag value={status} />
        </Group>
        <Text c="dimmed" fz="sm" className="clamp">
          {overview === undefined
            ? ""
            : message === null || message === undefined
              ? texts.agents.noMessages
              : message.sender === "user"
                ? `${texts.chat.youPrefix}${message.text}`
                : toPlainText(message.text)}
        </Text>
        <Group justify="space-between" wrap="nowrap" gap="sm" fz="xs" c="dimmed" mt="auto">
          <span className="truncate">{modelOf(agent)}</span>
          <Group component="span" wrap="nowrap" gap="sm" flex="none">
            {units > 0 && <span>{texts.agents.unitsToday(units)}</span>}
            {message !== null && message !== undefined && <Moment at={message.createdAt} />}
          </Group>
        </Group>
      </article>
    </li>
  )
}

const AgentCards = ({
  agents,
  onCreate
}: {
  readonly agents: ReadonlyArray<AgentItemJson>
  readonly onCreate: () => void
}) => {
  const [text, setText] = useState("")
  const [page, setPage] = useState(1)
  const modelOf = useModelNames()
  if (agents.length === 0)
    return !settings.mayProvision ? (
      <PlanNeeded />
    ) : (
      <div className="section">
        <Empty
          icon={<AgentsIcon />}
          title={texts.agents.none}
          action={
            <Button leftSection={<PlusIcon />} onClick={onCreate}>
              {texts.agents.create}
            </Button>
          }
        >
          {texts.agents.noneHint}
        </Empty>
      </div>
    )
  const searchText = text.trim().toLowerCase()
  const found = agents.filter((agent) => `${agent.name} ${modelOf(agent)}`.toLowerCase().includes(searchText))
  const shown = found.slice((page - 1) * perPage, page * perPage)
  return (
    <>
      {agents.length >= searchFrom && (
        <TextInput
          mb="md"
          maw={320}
          leftSection={<SearchIcon size={16} />}
          placeholder={texts.agents.search}
          aria-label={texts.agents.search}
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value)
            setPage(1)
          }}
        />
      )}
      <ul className="cards" aria-label={texts.shell.agents}>
        {shown.map((agent) => (
          <AgentCard key={agent.id} agent={agent} />
        ))}
      </ul>
      {found.length === 0 && <Empty title={texts.agents.notFound(text)} />}
      <Pages total={found.length} perPage={perPage} page={page} onChange={setPage} />
    </>
  )
}

export const AgentsPage = () => {
  useTitle(texts.shell.agents)
  const query = useQuery(agentsQuery)
  usePreloadedChat()
  const [isCreating, { close, open }] = useDisclosure()
  const agents = query.data?.agents ?? []
  const { maximumAgents } = settings
  const isAtLimit = maximumAgents !== null && agents.filter(({ status }) => status !== "error").length >= maximumAgents
  return (
    <div className="page">
      <PageHeader
        title={texts.shell.agents}
        lead={isAtLimit ? texts.agents.atLimit(maximumAgents) : texts.agents.lead}
        actions={
          agents.length > 0 && (
            <>
              <InstanceActions statuses={agents.map(({ status }) => status)} />
              {isAtLimit ? (
                <Button component={Link} to="/dashboard/plans" leftSection={<PlansIcon />} variant="default">
                  {texts.agents.chooseLarger}
                </Button>
              ) : (
                <Button leftSection={<PlusIcon />} onClick={open}>
                  {texts.agents.create}
                </Button>
              )}
            </>
          )
        }
      />
      <ClaimNotice />
      <Loaded query={query}>{(data) => <AgentCards agents={data.agents} onCreate={open} />}</Loaded>
      <CreateAgent isOpen={isCreating} onClose={close} />
    </div>
  )
}
