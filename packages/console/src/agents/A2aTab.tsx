import { Code, Group, MultiSelect, Stack, TagsInput, Text } from "@mantine/core"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { toPlainText } from "../excerpt.ts"
import { Form, useForm } from "../Form.tsx"
import { Copy, Empty, Fact, Loaded, Moment, offerUndo, Rows, Section, StatusTag } from "../parts.tsx"
import { agentPath, agentsQuery, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { A2aMessagesJson, AgentHealthJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

interface Lists {
  readonly allow: ReadonlyArray<string>
  readonly offered: ReadonlyArray<string>
  readonly skills: ReadonlyArray<string>
}

const listsQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "a2a"],
    queryFn: async ({ signal }): Promise<Lists> => {
      const [{ allow }, { skills: offered }, { skills }] = await Promise.all([
        call<{ readonly allow: ReadonlyArray<string> }>("GET", agentPath(agentId, "/a2a/allow"), { signal }),
        call<{ readonly skills: ReadonlyArray<string> }>("GET", agentPath(agentId, "/a2a/skills"), { signal }),
        call<AgentHealthJson>("GET", "/api/agent", { query: { action: "health", agentId }, signal })
      ])
      return { allow, offered, skills }
    }
  })

const Forms = ({ agentId, lists }: { readonly agentId: string; readonly lists: Lists }) => {
  const refresh = useRefresh()
  const save = async ({ allow, offered }: Omit<Lists, "skills">) => {
    await Promise.all([
      call("PUT", agentPath(agentId, "/a2a/allow"), { body: { allow } }),
      call("PUT", agentPath(agentId, "/a2a/skills"), { body: { skills: offered } })
    ])
    await refresh("agent", agentId)
  }
  const form = useForm({ allow: [...lists.allow], offered: [...lists.offered] }, async (values) => {
    await save(values)
    offerUndo(texts.saved, () => save(lists))
  })
  return (
    <Form form={form} label={texts.save} isBlocked={!form.isChanged} maw={620}>
      <TagsInput label={texts.a2a.allow} description={texts.a2a.allowHint} maxTags={100} {...form.field("allow")} />
      <MultiSelect
        label={texts.a2a.skills}
        description={texts.a2a.skillsHint}
        data={[...new Set([...lists.skills, ...form.values.offered])]}
        {...form.field("offered")}
      />
    </Form>
  )
}

/** Messages to and from other agents, and the senders that the agent allows. */
const A2aTab = ({ agent: { id } }: AgentTab) => {
  const lists = useQuery(listsQuery(id))
  const { data: listed } = useQuery(agentsQuery)
  const nameOf = (agentId: string) => listed?.agents.find((agent) => agent.id === agentId)?.name
  const messages = useQuery({
    queryKey: ["agent", id, "a2a", "messages"],
    queryFn: ({ signal }) =>
      call<A2aMessagesJson>("GET", agentPath(id, "/a2a/messages"), { query: { limit: 50 }, signal })
  })
  return (
    <>
      <Section title={texts.a2a.title} lead={texts.a2a.lead}>
        <dl className="facts">
          <Fact label={texts.a2a.id}>
            <Group gap={4} mb="md" wrap="nowrap">
              <Code>{id}</Code>
              <Copy value={id} label={texts.a2a.copyId} />
            </Group>
          </Fact>
        </dl>
        <Loaded query={lists}>{(found) => <Forms agentId={id} lists={found} />}</Loaded>
      </Section>
      <Section title={texts.a2a.inbox} lead={texts.a2a.inboxLead}>
        <Rows
          query={messages}
          read={({ messages: all }) => all}
          empty={<Empty title={texts.a2a.none}>{texts.a2a.noneHint}</Empty>}
        >
          {({ createdAt, direction, id: messageId, message, reason, reply, status, usedUnits }) => {
            const peer = direction === "inbound" ? message.from : message.to
            return (
              <li key={messageId}>
                <Stack gap={4} flex="1 1 280px" miw={0}>
                  <Group gap={8} fz="sm">
                    <StatusTag value={status} />
                    <span>{direction === "inbound" ? texts.a2a.from : texts.a2a.to}</span>
                    {nameOf(peer) ?? <Code>{peer}</Code>}
                  </Group>
                  <Text fz="sm" lineClamp={3}>
                    {typeof message.payload === "string" ? message.payload : JSON.stringify(message.payload)}
                  </Text>
                  {(reply ?? reason) !== null && (
                    <Text fz="sm" c="dimmed" lineClamp={3}>
                      {reply === null ? reason : toPlainText(reply)}
                    </Text>
                  )}
                </Stack>
                <Text fz="xs" c="dimmed">
                  {usedUnits !== null && `${texts.usage.units(usedUnits)} · `}
                  <Moment at={createdAt} />
                </Text>
              </li>
            )
          }}
        </Rows>
      </Section>
    </>
  )
}

export default A2aTab
