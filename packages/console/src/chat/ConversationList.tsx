import { ActionIcon, Button, Group, Menu, Modal, Text, TextInput } from "@mantine/core"
import { useDebouncedValue, useDisclosure } from "@mantine/hooks"
import { keepPreviousData, useQuery, type UseQueryResult } from "@tanstack/react-query"
import { useState } from "react"
import { call, segment, send } from "../api.ts"
import { ConfirmButton, focusMenuButton } from "../ConfirmButton.tsx"
import { Form, TextField, useForm } from "../Form.tsx"
import { DotsIcon, EditIcon, PlusIcon, SearchIcon, TrashIcon } from "../icons.tsx"
import { Loaded, Moment } from "../parts.tsx"
import { conversationsQuery, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { SessionJson } from "../wire.ts"

const perPage = 25

const sessionPath = (sessionId: string) => `/api/agent/sessions/${segment(sessionId)}`

const Rename = ({
  onClose,
  session
}: {
  readonly session: SessionJson & { readonly name: string }
  readonly onClose: () => void
}) => {
  const refresh = useRefresh()
  const form = useForm(
    { title: session.title ?? session.name.slice(0, 80) },
    (body) => call("PATCH", sessionPath(session.id), { body }),
    {
      onDone: async () => {
        await refresh("agent")
        onClose()
      }
    }
  )
  return (
    <Form form={form} label={texts.save} onCancel={onClose}>
      <TextField
        field={form.field("title")}
        label={texts.chat.title}
        description={texts.chat.titleHint}
        maxLength={200}
        data-autofocus
      />
    </Form>
  )
}

const ConversationMenu = ({
  onRemoved,
  session
}: {
  readonly session: SessionJson & { readonly name: string }
  readonly onRemoved: () => void
}) => {
  const refresh = useRefresh()
  const [isRenaming, renaming] = useDisclosure()
  const remove = async () => {
    await send("DELETE", sessionPath(session.id))
    onRemoved()
    await refresh("agent")
  }
  return (
    <>
      <ConfirmButton
        label={texts.chat.delete}
        title={texts.chat.deleteTitle(session.name.slice(0, 80))}
        message={texts.chat.deleteLead}
        onConfirm={remove}
      >
        {(askToRemove) => (
          <Menu position="bottom-end" width={180}>
            <Menu.Target>
              <ActionIcon
                className="conversation-menu"
                variant="subtle"
                color="gray"
                aria-label={texts.chat.actionsOf(session.name.slice(0, 80))}
              >
                <DotsIcon size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item
                leftSection={<EditIcon size={16} />}
                onClick={() => {
                  focusMenuButton()
                  renaming.open()
                }}
              >
                {texts.chat.rename}
              </Menu.Item>
              <Menu.Item leftSection={<TrashIcon size={16} />} onClick={askToRemove}>
                {texts.chat.delete}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        )}
      </ConfirmButton>
      <Modal opened={isRenaming} onClose={renaming.close} title={texts.chat.rename}>
        <Rename session={session} onClose={renaming.close} />
      </Modal>
    </>
  )
}

/** The conversations of an agent, most recently used first. */
export const ConversationList = ({
  agentId,
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
  const [searchText] = useDebouncedValue(text.trim(), 250)
  const found = useQuery({
    ...conversationsQuery(agentId, searchText),
    enabled: searchText !== "",
    placeholderData: keepPreviousData
  })
  const shown = searchText === "" ? query : found
  const sessions = (shown.data ?? []).slice(0, limit)
  const named = sessions.map((session) => ({
    ...session,
    name: session.title ?? (session.preview || texts.chat.untitled)
  }))
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
      <Loaded query={shown}>
        {(all) => (
          <>
            <ul className="conversation-list">
              {named.map((session) => (
                <li key={session.id} className="conversation-item">
                  <button
                    type="button"
                    className="conversation"
                    aria-current={session.id === current}
                    onClick={() => onOpen(session.id)}
                  >
                    <span className="truncate">{session.name}</span>
                    <Group component="span" justify="space-between" fz="xs" c="dimmed" wrap="nowrap">
                      <Moment at={session.lastActivity} />
                      <span>{texts.chat.messages(session.messageCount)}</span>
                    </Group>
                  </button>
                  <ConversationMenu
                    session={session}
                    onRemoved={() => {
                      if (session.id === current) onOpen("new")
                    }}
                  />
                </li>
              ))}
              {all.length === 0 && (
                <Text component="li" c="dimmed" fz="sm" px={10} py={6}>
                  {searchText === "" ? texts.chat.noConversations : texts.chat.notFound}
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
