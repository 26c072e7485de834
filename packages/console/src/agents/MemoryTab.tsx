import { Box, Button, Stack, Text, TextInput } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { call, segment, send } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { toPlainText } from "../excerpt.ts"
import { Form, TextareaField, useForm } from "../Form.tsx"
import { PlusIcon, SearchIcon } from "../icons.tsx"
import { Empty, Moment, offerUndo, Pages, Rows, Section, useAction } from "../parts.tsx"
import { agentPath, ownInstancePath, useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { MemoryJson, MemoryMatchesJson, MemoryNotesJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

const notesShown = 10

const AddNote = ({
  add,
  onDone
}: {
  readonly add: (text: string) => Promise<unknown>
  readonly onDone: () => void
}) => {
  const form = useForm({ text: "" }, ({ text }) => add(text), { done: texts.memory.added, onDone })
  return (
    <Box mb="md">
      <Form form={form} label={texts.memory.add} onCancel={onDone} isBlocked={form.values.text.trim() === ""} maw={560}>
        <TextareaField
          field={form.field("text")}
          label={texts.memory.note}
          description={texts.memory.noteHint}
          maxLength={2_000}
          minRows={2}
          autosize
          autoFocus
        />
      </Form>
    </Box>
  )
}

/** The notes that the agent and its owner keep. */
const Notes = ({ agentId }: { readonly agentId: string }) => {
  const [page, setPage] = useState(1)
  const [isAdding, setAdding] = useState(false)
  const refresh = useRefresh()
  const path = agentPath(agentId, "/memory/notes")
  const query = useQuery({
    queryKey: ["agent", agentId, "memory", "notes", page],
    queryFn: ({ signal }) =>
      call<MemoryNotesJson>("GET", path, {
        query: { limit: notesShown, offset: (page - 1) * notesShown },
        signal
      }),
    placeholderData: keepPreviousData
  })
  const isBehindEnd = page > 1 && !query.isPlaceholderData && query.data?.notes.length === 0
  useEffect(() => {
    if (isBehindEnd) setPage(page - 1)
  }, [isBehindEnd, page])
  const add = async (text: string) => {
    await call("POST", path, { body: { text } })
    await refresh("agent", agentId, "memory")
  }
  const remove = useAction(
    async ({ id }: MemoryNotesJson["notes"][number]) => {
      await send("DELETE", `${path}/${segment(id)}`)
      await refresh("agent", agentId, "memory")
    },
    { onDone: ({ text }) => offerUndo(texts.memory.removed, () => add(text)) }
  )
  return (
    <Section
      title={texts.memory.notes}
      lead={texts.memory.notesLead}
      actions={
        !isAdding && (
          <Button variant="default" leftSection={<PlusIcon size={16} />} onClick={() => setAdding(true)}>
            {texts.memory.add}
          </Button>
        )
      }
    >
      {isAdding && <AddNote add={add} onDone={() => setAdding(false)} />}
      <Rows
        query={query}
        read={({ notes }) => notes}
        empty={<Empty title={texts.memory.noNotes}>{texts.memory.noNotesHint}</Empty>}
        label={texts.memory.notes}
      >
        {(note) => (
          <li key={note.id}>
            <Stack gap={2} className="row-text">
              <Text fz="sm">{note.text}</Text>
              <Text fz="xs" c="dimmed">
                <Moment at={note.timestamp} />
              </Text>
            </Stack>
            <Button
              variant="default"
              size="xs"
              aria-label={texts.memory.removeNote(note.text)}
              loading={remove.isPending && remove.variables.id === note.id}
              onClick={() => remove.mutate(note)}
            >
              {texts.remove}
            </Button>
          </li>
        )}
      </Rows>
      <Pages total={query.data?.total ?? 0} perPage={notesShown} page={page} onChange={setPage} />
    </Section>
  )
}

const Matches = ({ agent: { id, name }, searchText }: AgentTab & { readonly searchText: string }) => {
  const query = useQuery({
    queryKey: ["agent", id, "memory", "search", searchText],
    queryFn: ({ signal }) =>
      call<MemoryMatchesJson>("GET", agentPath(id, "/memory/search"), { query: { query: searchText }, signal }),
    placeholderData: keepPreviousData
  })
  const senderNames = { user: texts.chat.you, agent: name, person: texts.memory.person }
  return (
    <Rows
      query={query}
      read={({ matches }) => matches}
      empty={<Empty title={texts.memory.noMatches}>{texts.memory.noMatchesHint}</Empty>}
      label={texts.memory.matches}
    >
      {(match) => (
        <li key={match.id}>
          <Stack gap={2} className="row-text">
            <Text fz="xs" c="dimmed">
              {match.kind === "note" ? texts.memory.note : senderNames[match.sender]} · <Moment at={match.timestamp} />
            </Text>
            <Text fz="sm">{toPlainText(match.text)}</Text>
          </Stack>
          {match.kind === "message" && (
            <Button
              variant="default"
              size="xs"
              renderRoot={(props) => (
                <Link
                  to="/dashboard/agents/$agentId/$tab"
                  params={{ agentId: id, tab: "chat" }}
                  search={{ conversation: match.sessionId }}
                  {...props}
                />
              )}
            >
              {texts.memory.openConversation}
            </Button>
          )}
        </li>
      )}
    </Rows>
  )
}

const Search = (tab: AgentTab) => {
  const [text, setText] = useState("")
  const [searchText] = useDebouncedValue(text.trim(), 300)
  return (
    <Section title={texts.memory.search} lead={texts.memory.searchLead}>
      <TextInput
        type="search"
        maw={420}
        mb={searchText === "" ? 0 : "md"}
        leftSection={<SearchIcon size={16} />}
        placeholder={texts.memory.search}
        aria-label={texts.memory.search}
        maxLength={200}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      {searchText !== "" && <Matches {...tab} searchText={searchText} />}
    </Section>
  )
}

const excerpt = (content: string) =>
  `${toPlainText(content)}${[...content].length < settings.recentMemoryCharacters ? "" : "…"}`

const RecentMessages = ({ agent: { id, name } }: AgentTab) => {
  const query = useQuery({
    queryKey: ["agent", id, "memory", "recent"],
    queryFn: async ({ signal }) =>
      (
        await call<{ readonly memory: ReadonlyArray<MemoryJson> }>("GET", "/api/agent", {
          query: { action: "memory", agentId: id },
          signal
        })
      ).memory
  })
  return (
    <Section title={texts.memory.title} lead={texts.memory.lead}>
      <Rows
        query={query}
        read={(memory) => memory}
        empty={<Empty title={texts.memory.none}>{texts.memory.noneHint}</Empty>}
      >
        {({ content, role }, index) => (
          <li key={index}>
            <Text fz="xs" c="dimmed" w={90}>
              {role === "user" ? texts.chat.you : name}
            </Text>
            <Text fz="sm" flex="1 1 240px">
              {excerpt(content)}
            </Text>
          </li>
        )}
      </Rows>
    </Section>
  )
}

/** The agent's memory across conversations: notes, search, recent messages, and the reset. */
const MemoryTab = (tab: AgentTab) => {
  const refresh = useRefresh()
  return (
    <>
      <Search {...tab} />
      <Notes agentId={tab.agent.id} />
      <RecentMessages {...tab} />
      <Section title={texts.memory.reset} lead={texts.memory.resetLead} tone="danger">
        <ConfirmButton
          label={texts.memory.reset}
          title={texts.memory.reset}
          message={texts.memory.resetLead}
          phrase="reset"
          onConfirm={async () => {
            await call("POST", ownInstancePath("/reset-memory"))
            await Promise.all([refresh("agent"), refresh("conversation")])
          }}
        />
      </Section>
    </>
  )
}

export default MemoryTab
