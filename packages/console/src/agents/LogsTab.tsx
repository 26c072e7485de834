import { Group, SegmentedControl, Switch, Text, TextInput } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call } from "../api.ts"
import { formatClock } from "../format.ts"
import { SearchIcon } from "../icons.tsx"
import { Empty, Loaded, Section } from "../parts.tsx"
import { agentPath } from "../queries.ts"
import { texts } from "../texts.ts"
import type { LogsJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

const everyLevel = "all"
const levels = [everyLevel, "debug", "info", "warning", "error"] as const
const pollMs = 3_000

/** The newest log entries, polled while the page is visible. */
const LogsTab = ({ agent: { id } }: AgentTab) => {
  const [level, setLevel] = useState<string>(everyLevel)
  const [text, setText] = useState("")
  const [isFollowing, setFollowing] = useState(true)
  const query = useQuery({
    queryKey: ["agent", id, "logs", level],
    queryFn: ({ signal }) =>
      call<LogsJson>("GET", agentPath(id, "/logs"), {
        query: { limit: 100, level: level === everyLevel ? undefined : level },
        signal
      }),
    refetchInterval: isFollowing ? pollMs : false,
    refetchOnWindowFocus: isFollowing
  })
  const searchText = text.trim().toLowerCase()
  return (
    <Section title={texts.logs.title} lead={texts.logs.lead}>
      <Group gap="sm" mb="md">
        <TextInput
          flex="1 1 180px"
          leftSection={<SearchIcon size={16} />}
          placeholder={texts.logs.search}
          aria-label={texts.logs.search}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
        />
        <SegmentedControl
          size="xs"
          data={levels.map((value) => ({ value, label: texts.logs.levels[value] }))}
          value={level}
          onChange={setLevel}
          aria-label={texts.logs.level}
        />
        <Switch
          label={texts.logs.follow}
          checked={isFollowing}
          onChange={({ currentTarget }) => setFollowing(currentTarget.checked)}
        />
      </Group>
      <Loaded query={query} rows={6}>
        {({ logs }) => {
          const shown = logs.filter(({ message }) => message.toLowerCase().includes(searchText))
          return shown.length === 0 ? (
            <Empty title={texts.logs.none}>{texts.logs.noneHint}</Empty>
          ) : (
            <>
              <ol className="logs" tabIndex={0} aria-label={texts.logs.title}>
                {shown.map((entry) => (
                  <li key={entry.id} data-level={entry.level}>
                    <time dateTime={entry.timestamp}>{formatClock(entry.timestamp)}</time>
                    <b>{texts.logs.levels[entry.level]}</b>
                    <span>{entry.message}</span>
                  </li>
                ))}
              </ol>
              <Text fz="xs" c="dimmed" mt={6}>
                {texts.logs.newest}
              </Text>
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}

export default LogsTab
