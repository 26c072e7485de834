import { Button, Group, Text, TextInput } from "@mantine/core"
import { useQueries, type UseQueryResult } from "@tanstack/react-query"
import { useState } from "react"
import { PlusIcon, SearchIcon } from "../icons.tsx"
import { Loaded, Moment } from "../parts.tsx"
import { readConversation } from "../queries.ts"
import { texts } from "../texts.ts"
import type { SessionJson } from "../wire.ts"

const perPage = 25

/** The newest message names a conversation. It is read again when the conversation goes on. */
const useTitles = (sessions: ReadonlyArray<SessionJson>) =>
  useQueries({
    queries: sessions.map(({ id, lastActivity }) => ({
      queryKey: ["conversation-title", id, lastActivity],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
        (await readConversation(id, { limit: 2, signal })).messages.find(({ role }) => role === "user")?.content ?? "",
      staleTime: Infinity
    })),
    combine: (results) => results.map(({ data }) => data)
  })

/** The conversations of an agent, last used first. */
export const ConversationList = ({
  current,
  onOpen,
  query
}: {
  readonly agentId: string
  readonly current: string
  readonly query: UseQueryResult<ReadonlyArray<SessionJson>>
  readonly onOpen: (sessionId: string) => void
}) => {
  const [text, setText] = useState("")
  const [limit, setLimit] = useState(perPage)
  const sessions = (query.data ?? []).slice(0, limit)
  const titles = useTitles(sessions)
  const wanted = text.trim().toLowerCase()
  const found = sessions
    .map((session, index) => ({ ...session, title: titles[index] }))
    .filter(({ title }) => (title ?? "").toLowerCase().includes(wanted))
  return (
    <>
      <div className="conversations-head">
        <Button fullWidth variant="default" leftSection={<PlusIcon />} onClick={() => onOpen("new")}>
          {texts.chat.new}
        </Button>
        {(query.data?.length ?? 0) > 3 && (
          <TextInput
            mt={8}
            size="xs"
            leftSection={<SearchIcon size={14} />}
            placeholder={texts.chat.search}
            aria-label={texts.chat.search}
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </div>
      <Loaded query={query}>
        {(all) => (
          <>
            <ul>
              {found.map(({ id, lastActivity, messageCount, title }) => (
                <li key={id}>
                  <button
                    type="button"
                    className="conversation"
                    aria-current={id === current}
                    onClick={() => onOpen(id)}
                  >
                    <span className="truncate">
                      {title === undefined || title === "" ? texts.chat.untitled : title}
                    </span>
                    <Group component="span" justify="space-between" fz="xs" c="dimmed" wrap="nowrap">
                      <Moment at={lastActivity} />
                      <span>{texts.chat.messages(messageCount)}</span>
                    </Group>
                  </button>
                </li>
              ))}
              {all.length === 0 && (
                <Text component="li" c="dimmed" fz="sm" px={10} py={6}>
                  {texts.chat.noConversations}
                </Text>
              )}
              {all.length > limit && (
                <li>
                  <Button variant="subtle" size="xs" fullWidth onClick={() => setLimit(limit + perPage)}>
                    {texts.more}
                  </Button>
                </li>
              )}
            </ul>
          </>
        )}
      </Loaded>
    </>
  )
}
