import { ActionIcon, Button, Drawer, Group, Textarea, Tooltip, UnstyledButton } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { type InfiniteData, type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import type { AgentTab } from "../agents/AgentTab.ts"
import { useOverview } from "../agents/overviews.ts"
import { call } from "../api.ts"
import { AttachIcon, ChatIcon, DownIcon, ListIcon, PlusIcon, SendIcon, StopIcon } from "../icons.tsx"
import { shorten, toPlainText } from "../excerpt.ts"
import { Empty, Failure, Loaded, Notice, useAction, useUndo } from "../parts.tsx"
import { conversationsQuery, readConversation } from "../queries.ts"
import { texts } from "../texts.ts"
import type { SessionMessageJson, SessionPageJson } from "../wire.ts"
import { DraftFiles } from "./AttachmentList.tsx"
import { acceptedFiles, type DraftFile, type Outgoing, useDraftFiles } from "./attachments.ts"
import { ConversationList } from "./ConversationList.tsx"
import { mergeMessages } from "./exchanges.ts"
import { ask, followPending, readLiveAnswers, stopAnswers, useLiveHeads } from "./live.ts"
import { Exchanges } from "./Messages.tsx"

const pageSize = 50
const newConversation = "new"
const nearEnd = 120
/** It would cover half of the conversation. */
const hasTouchKeyboard = matchMedia("(pointer: coarse)").matches
/** Whether no other field or dialog has the focus. */
const isFocusFree = () => document.activeElement?.matches("input, textarea, [role=dialog] *") !== true

const conversationKey = (sessionId: string) => ["conversation", sessionId]

type Pages = InfiniteData<SessionPageJson, string | undefined>

/** Merges the newest page; older messages keep their position. */
const mergeNewest = (old: Pages | undefined, fresh: SessionPageJson): Pages => {
  const [first, ...others] = old?.pages ?? []
  if (old === undefined || first === undefined) return { pages: [fresh], pageParams: [undefined] }
  return { ...old, pages: [{ ...fresh, messages: mergeMessages(first.messages, fresh.messages) }, ...others] }
}

/** Reloads the newest messages and the lists that they change. */
const makeSync = (client: QueryClient, agentId: string, sessionId: string) => async () => {
  const fresh = await readConversation(sessionId, { limit: pageSize })
  client.setQueryData<Pages>(conversationKey(sessionId), (old) => mergeNewest(old, fresh))
  void client.invalidateQueries({ queryKey: ["agent", agentId, "conversations"] })
  void client.invalidateQueries({ queryKey: ["billing"] })
  // React Query notifies observers in a later task.
  await new Promise((resolve) => setTimeout(resolve))
}

const describeEnd = ({ content, failure, role, status, stopped }: SessionMessageJson, name: string): string => {
  if (role === "assistant") return `${name}: ${toPlainText(content)}`
  if (status !== "failed") return ""
  return stopped ? texts.chat.stopped : texts.chat.unanswered(failure ?? texts.chat.noReason)
}

const useConversation = (agentId: string, sessionId: string) => {
  const client = useQueryClient()
  const query = useInfiniteQuery({
    queryKey: conversationKey(sessionId),
    queryFn: ({ pageParam, signal }: { readonly pageParam: string | undefined; readonly signal: AbortSignal }) =>
      readConversation(sessionId, { before: pageParam, limit: pageSize, signal }),
    initialPageParam: undefined,
    getNextPageParam: ({ messages }: SessionPageJson) => (messages.length < pageSize ? undefined : messages[0]?.id),
    enabled: sessionId !== newConversation,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false
  })
  const sync = useMemo(() => makeSync(client, agentId, sessionId), [agentId, client, sessionId])
  const messages = useMemo(() => (query.data?.pages ?? []).toReversed().flatMap((page) => page.messages), [query.data])
  return { query, sync, messages }
}

/** Returns the text that screen readers announce once an answer has ended: the answer, or why there is none. */
const useEndAnnouncement = (isFollowing: boolean, newest: SessionMessageJson | undefined, name: string): string => {
  const [wasFollowing, setFollowing] = useState(false)
  const [announcement, announce] = useState("")
  if (isFollowing !== wasFollowing) {
    setFollowing(isFollowing)
    announce(isFollowing || newest === undefined ? "" : describeEnd(newest, name))
  }
  return announcement
}

const Composer = ({
  agentId,
  draft,
  isBusy,
  name,
  onSend,
  onStop,
  onText,
  text
}: {
  readonly agentId: string
  readonly name: string
  readonly isBusy: boolean
  readonly text: string
  readonly draft: ReturnType<typeof useDraftFiles>
  readonly onText: (text: string) => void
  readonly onSend: (message: Outgoing) => void
  /** Stops the answer in progress; undefined if there is none. */
  readonly onStop: (() => void) | undefined
}) => {
  const dialog = useRef<HTMLInputElement>(null)
  const offerUndo = useUndo()
  const attachments = draft.files.flatMap(({ attachment }) => attachment ?? [])
  const isReady = attachments.length === draft.files.length && (text.trim() !== "" || attachments.length > 0)
  const submit = () => {
    if (isReady && !isBusy) onSend({ text: text.trim(), attachments })
  }
  const remove = (file: DraftFile) => {
    draft.remove(file.key)
    if (file.attachment !== undefined) offerUndo(texts.chat.removedFile(file.name), () => draft.restore(file))
  }
  const take = (event: React.SyntheticEvent, data: DataTransfer) => {
    if (data.files.length === 0) return
    event.preventDefault()
    draft.add(data.files)
  }
  return (
    <div className="composer">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
        onDragOver={(event) => {
          if (event.dataTransfer.types.includes("Files")) event.preventDefault()
        }}
        onDrop={(event) => take(event, event.dataTransfer)}
      >
        <DraftFiles agentId={agentId} files={draft.files} onRemove={remove} />
        <input
          ref={dialog}
          type="file"
          multiple
          hidden
          accept={acceptedFiles}
          onChange={({ currentTarget }) => {
            draft.add(currentTarget.files ?? [])
            currentTarget.value = ""
          }}
        />
        <Tooltip label={texts.chat.attach}>
          <ActionIcon
            type="button"
            size={36}
            radius="xl"
            variant="subtle"
            color="gray"
            aria-label={texts.chat.attach}
            onClick={() => dialog.current?.click()}
          >
            <AttachIcon />
          </ActionIcon>
        </Tooltip>
        <Textarea
          variant="unstyled"
          flex={1}
          autosize
          minRows={1}
          maxRows={10}
          autoFocus={!hasTouchKeyboard && isFocusFree()}
          id="composer"
          aria-label={texts.chat.message}
          placeholder={texts.chat.placeholder(shorten(name, 20))}
          value={text}
          onChange={({ currentTarget }) => onText(currentTarget.value)}
          onPaste={(event) => take(event, event.clipboardData)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onStop?.()
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
            event.preventDefault()
            submit()
          }}
        />
        {onStop === undefined ? (
          <Tooltip label={texts.chat.send}>
            <ActionIcon type="submit" size={36} radius="xl" aria-label={texts.chat.send} disabled={!isReady || isBusy}>
              <SendIcon />
            </ActionIcon>
          </Tooltip>
        ) : (
          <Tooltip label={texts.chat.stop}>
            <ActionIcon type="button" size={36} radius="xl" aria-label={texts.chat.stop} onClick={onStop}>
              <StopIcon />
            </ActionIcon>
          </Tooltip>
        )}
      </form>
      <p className="composer-hint">{texts.chat.hint}</p>
    </div>
  )
}

const Welcome = ({ name, onPick }: { readonly name: string; readonly onPick: (text: string) => void }) => (
  <Empty icon={<ChatIcon />} title={texts.chat.welcome(name)}>
    {texts.chat.welcomeHint}
    <Group component="span" justify="center" gap={8} mt="md">
      {texts.chat.starters.map((starter) => (
        <Button key={starter} variant="default" radius="xl" size="xs" onClick={() => onPick(starter)}>
          {starter}
        </Button>
      ))}
    </Group>
  </Empty>
)

const Conversation = ({
  agent,
  onCreated,
  sessionId
}: AgentTab & { readonly sessionId: string; readonly onCreated: (sessionId: string) => void }) => {
  const { id: agentId, name } = agent
  const { messages, query, sync } = useConversation(agentId, sessionId)
  const client = useQueryClient()
  const live = useLiveHeads(sessionId)
  const draftKey = `draft-${agentId}`
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey) ?? "")
  const draft = useDraftFiles(agentId, sessionId)
  const { replace: replaceFiles } = draft
  const [failure, setFailure] = useState<unknown>()
  const [isSending, setSending] = useState(false)
  const [isAway, setAway] = useState(false)
  const log = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const anchor = useRef<{ readonly element: Element; readonly top: number }>(undefined)

  useEffect(() => sessionStorage.setItem(draftKey, text), [draftKey, text])
  const write = (next: string) => {
    setText(next)
    setFailure(undefined)
  }

  // Answers that were in progress before a reload, and messages of another window.
  useEffect(() => {
    for (const { content, id, role, status } of messages)
      if (role === "user" && status === "pending") followPending(sessionId, { id, content }, sync)
  }, [messages, sessionId, sync])
  // Messages of other windows, devices and channels.
  const newest = useOverview(agentId)?.lastMessage?.createdAt
  const lastSeen = useRef(newest)
  useEffect(() => {
    if (newest === lastSeen.current) return
    const isFirst = lastSeen.current === undefined
    lastSeen.current = newest
    if (!isFirst && sessionId !== newConversation && readLiveAnswers(sessionId).length === 0)
      sync().catch(() => undefined)
  }, [newest, sessionId, sync])
  useEffect(() => {
    if (sessionId === newConversation) return undefined
    const wake = () => {
      if (!document.hidden) sync().catch(() => undefined)
    }
    document.addEventListener("visibilitychange", wake)
    addEventListener("online", wake)
    return () => {
      document.removeEventListener("visibilitychange", wake)
      removeEventListener("online", wake)
    }
  }, [sessionId, sync])

  // If the first message is rejected, the next attempt uses the same conversation.
  const created = useRef<string>(undefined)
  const send = useCallback(
    async (message: Outgoing) => {
      setSending(true)
      setFailure(undefined)
      try {
        if (sessionId === newConversation)
          created.current ??= (
            await call<{ readonly sessionId: string }>("POST", "/api/agent", {
              body: { action: "create-session", agentId }
            })
          ).sessionId
        const target = created.current ?? sessionId
        await ask({ agentId, sessionId: target, message }, makeSync(client, agentId, target))
        // The user may already be writing the next message.
        setText((written) => (written.trim() === message.text ? "" : written))
        if (message.attachments.length > 0) replaceFiles([])
        atEnd.current = true
        if (target !== sessionId) {
          if (sessionStorage.getItem(draftKey)?.trim() === message.text) sessionStorage.setItem(draftKey, "")
          void client.invalidateQueries({ queryKey: ["agent", agentId, "conversations"] })
          onCreated(target)
        }
      } catch (cause) {
        setFailure(cause)
      } finally {
        setSending(false)
        if (isFocusFree()) document.getElementById("composer")?.focus()
      }
    },
    [agentId, client, draftKey, onCreated, replaceFiles, sessionId]
  )
  // A starting agent rejects messages until it runs.
  const isStarting = agent.status === "provisioning"
  const [queued, setQueued] = useState<Outgoing>()
  useEffect(() => {
    if (queued === undefined || isStarting) return
    setQueued(undefined)
    void send(queued)
  }, [isStarting, queued, send])
  const retry = useCallback((message: Outgoing) => void send(message), [send])
  const edit = useCallback(
    ({ attachments, text: written }: Outgoing) => {
      setText(written)
      replaceFiles(attachments)
      document.getElementById("composer")?.focus()
    },
    [replaceFiles]
  )

  useLayoutEffect(() => {
    const element = log.current
    if (element === null) return
    if (anchor.current !== undefined) {
      element.scrollTop += anchor.current.element.getBoundingClientRect().top - anchor.current.top
      anchor.current = undefined
    } else if (atEnd.current) element.scrollTop = element.scrollHeight
  })

  // The height of messages is known only after painting.
  useEffect(() => {
    const [element, content] = [log.current, log.current?.firstElementChild]
    if (element === null || content === null || content === undefined) return undefined
    const observer = new ResizeObserver(() => {
      if (atEnd.current) element.scrollTop = element.scrollHeight
    })
    observer.observe(content)
    return () => observer.disconnect()
  }, [])

  const onScroll = () => {
    const element = log.current
    if (element === null) return
    const distance = element.scrollHeight - element.scrollTop - element.clientHeight
    atEnd.current = distance < nearEnd
    if (isAway === atEnd.current) setAway(!atEnd.current)
  }
  const showEarlier = () => {
    const element = log.current?.querySelector(".turn")
    atEnd.current = false
    void query.fetchNextPage().then(() => undefined)
    if (element !== null && element !== undefined)
      anchor.current = { element, top: element.getBoundingClientRect().top }
  }

  const stop = useAction(() => stopAnswers(sessionId))
  const isUnread = sessionId !== newConversation && query.data === undefined
  const isStored = (messageId: string | undefined) =>
    messages.some(({ id, status }) => id === messageId && status !== "pending")
  const isAnswering = live.some(({ failure: reason, messageId }) => reason === undefined && !isStored(messageId))
  return (
    <>
      <p className="visually-hidden" role="status">
        {useEndAnnouncement(live.length > 0, messages.at(-1), name)}
      </p>
      <div
        className="log"
        ref={log}
        onScroll={onScroll}
        role="log"
        aria-live="off"
        aria-label={texts.chat.conversation}
        tabIndex={0}
      >
        <div className="log-inner">
          {isUnread && <Loaded query={query}>{() => null}</Loaded>}
          {query.hasNextPage && (
            <Group justify="center">
              <Button variant="default" size="xs" loading={query.isFetchingNextPage} onClick={showEarlier}>
                {texts.chat.earlier}
              </Button>
            </Group>
          )}
          <Exchanges
            agentId={agentId}
            sessionId={sessionId}
            messages={messages}
            name={name}
            onEdit={edit}
            onRetry={retry}
          />
          {messages.length === 0 && live.length === 0 && !isUnread && (
            <Welcome name={name} onPick={(starter) => edit({ text: starter, attachments: [] })} />
          )}
        </div>
      </div>
      {isAway && (
        <ActionIcon
          className="to-end"
          variant="default"
          radius="xl"
          size="lg"
          aria-label={texts.chat.toEnd}
          onClick={() => log.current?.scrollTo({ top: log.current.scrollHeight })}
        >
          <DownIcon />
        </ActionIcon>
      )}
      {queued !== undefined && (
        <div className="composer-failure" role="status">
          <Notice tone="busy">{texts.chat.queued(name)}</Notice>
        </div>
      )}
      {failure !== undefined && (
        <div className="composer-failure">
          <Failure cause={failure} />
        </div>
      )}
      <Composer
        agentId={agentId}
        draft={draft}
        name={name}
        isBusy={isSending || isAnswering || queued !== undefined}
        text={text}
        onText={write}
        onStop={isAnswering ? () => stop.mutate() : undefined}
        onSend={(message) => (isStarting ? setQueued(message) : void send(message))}
      />
    </>
  )
}

const absences: Readonly<Record<string, (name: string) => string>> = texts.agent.absences

/** Conversations with an agent. */
const ChatTab = ({ agent }: AgentTab) => {
  const { id: agentId } = agent
  const navigate = useNavigate()
  const query = useQuery(conversationsQuery(agentId))
  const { conversation } = useSearch({ strict: false })
  const [isListOpen, list] = useDisclosure()
  // Later conversations do not replace a draft.
  const [chosen, choose] = useState<string>()
  if (query.data !== undefined && chosen !== newConversation && !query.data.some(({ id }) => id === chosen))
    choose(query.data[0]?.id ?? newConversation)
  const sessionId = conversation ?? chosen ?? newConversation
  const open = (id: string) => {
    list.close()
    void navigate({
      to: "/dashboard/agents/$agentId/$tab",
      params: { agentId, tab: "chat" },
      search: { conversation: id }
    })
  }
  const absence = absences[agent.status]
  const conversations = <ConversationList agentId={agentId} current={sessionId} query={query} onOpen={open} />
  return (
    <div className="chat">
      <aside className="conversations" aria-label={texts.chat.conversations}>
        {conversations}
      </aside>
      <Drawer
        opened={isListOpen}
        onClose={list.close}
        title={texts.chat.conversations}
        size={300}
        closeButtonProps={{ "aria-label": texts.close }}
      >
        {conversations}
      </Drawer>
      <section className="chat-main" aria-label={texts.chat.chatWith(agent.name)}>
        <div className="chat-bar">
          <UnstyledButton className="nav-link" onClick={list.open}>
            <ListIcon />
            {texts.chat.conversations}
          </UnstyledButton>
          <UnstyledButton className="nav-link" onClick={() => open(newConversation)}>
            <PlusIcon />
            {texts.chat.new}
          </UnstyledButton>
        </div>
        {absence !== undefined && (
          <div className="absence">
            <Notice tone="busy">{absence(agent.name)}</Notice>
          </div>
        )}
        {query.data === undefined && conversation === undefined ? (
          <div className="page">
            <Loaded query={query}>{() => null}</Loaded>
          </div>
        ) : (
          <Conversation key={sessionId} agent={agent} sessionId={sessionId} onCreated={open} />
        )}
      </section>
    </div>
  )
}

export default ChatTab
