import { Button, Group, List, Stack, Switch } from "@mantine/core"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Form, TextField, useForm } from "../Form.tsx"
import { Copy, ExternalLink, Loaded, Moment, offerUndo, Section, StatusTag, useAction } from "../parts.tsx"
import { agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { ChannelsJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

type Platform = keyof ChannelsJson["channels"]

const platforms: ReadonlyArray<{
  readonly id: Platform
  readonly fields: ReadonlyArray<"token" | "appSecret" | "verifyToken">
}> = [
  { id: "platformA", fields: ["token"] },
  { id: "platformB", fields: ["token", "appSecret", "verifyToken"] },
  { id: "platformC", fields: ["token"] }
]

const channelsQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "channels"],
    queryFn: ({ signal }) => call<ChannelsJson>("GET", agentPath(agentId, "/channels"), { signal }),
    // A new token is checked with its platform in the background.
    refetchInterval: ({ state: { data } }) =>
      Object.values(data?.channels ?? {}).some(({ health }) => health?.state === "pending") ? 2_000 : false
  })

const Connect = ({
  agentId,
  onDone,
  platform: { fields, id }
}: {
  readonly agentId: string
  readonly platform: (typeof platforms)[number]
  readonly onDone: () => void
}) => {
  const refresh = useRefresh()
  const form = useForm(
    { token: "", appSecret: "", verifyToken: "" },
    (values) =>
      call("PUT", agentPath(agentId, "/channels"), {
        body: { [id]: Object.fromEntries(fields.map((field) => [field, values[field]])) }
      }),
    {
      done: texts.channels.connecting,
      onDone: async () => {
        await refresh("agent", agentId)
        onDone()
      }
    }
  )
  return (
    <Form form={form} label={texts.channels.connect} onCancel={onDone} maw={560}>
      <List type="ordered" fz="sm" spacing={4}>
        {texts.channels.platforms[id].steps.map((step) => (
          <List.Item key={step}>{step}</List.Item>
        ))}
      </List>
      {fields.map((field, index) => (
        <TextField
          key={field}
          field={form.field(field)}
          label={texts.channels.fields[field]}
          type="password"
          required
          autoFocus={index === 0}
        />
      ))}
    </Form>
  )
}

const Channel = ({
  agentId,
  channel,
  platform
}: {
  readonly agentId: string
  readonly channel: ChannelsJson["channels"][Platform]
  readonly platform: (typeof platforms)[number]
}) => {
  const [isConnecting, setConnecting] = useState(false)
  const refresh = useRefresh()
  const { lead, title } = texts.channels.platforms[platform.id]
  const put = async (body: { readonly enabled?: boolean; readonly answersBots?: boolean } | null) => {
    await call("PUT", agentPath(agentId, "/channels"), { body: { [platform.id]: body } })
    await refresh("agent", agentId)
  }
  const change = useAction(put, {
    onDone: (body) => body?.enabled === false && offerUndo(texts.channels.paused(title), () => put({ enabled: true }))
  })
  const { answersBots, bot, configured, enabled, health, webhookUrl } = channel
  return (
    <Section
      title={title}
      lead={lead}
      actions={
        <Group gap="xs">
          {configured ? (
            <StatusTag value={enabled ? (health?.state ?? "pending") : "off"} />
          ) : (
            !isConnecting && (
              <Button variant="default" onClick={() => setConnecting(true)}>
                {texts.channels.connectTo(title)}
              </Button>
            )
          )}
        </Group>
      }
    >
      {isConnecting && <Connect agentId={agentId} platform={platform} onDone={() => setConnecting(false)} />}
      {configured && !isConnecting && (
        <Stack gap="sm">
          <dl className="facts">
            {bot !== null && (
              <>
                <dt>{texts.channels.bot}</dt>
                <dd>
                  {platform.id === "platformA" ? (
                    <ExternalLink href={`https://t.me/${bot.name}`}>{bot.name}</ExternalLink>
                  ) : (
                    bot.name
                  )}
                </dd>
              </>
            )}
            {health !== null && health.reason !== null && (
              <>
                <dt>{texts.channels.health}</dt>
                <dd>{health.reason}</dd>
              </>
            )}
            {health !== null && health.checkedAt !== null && (
              <>
                <dt>{texts.channels.checked}</dt>
                <dd>
                  <Moment at={health.checkedAt} />
                </dd>
              </>
            )}
            {webhookUrl !== null && (
              <>
                <dt>{texts.channels.webhook}</dt>
                <dd>
                  <Group gap={4} wrap="nowrap">
                    <span className="truncate">{webhookUrl}</span>
                    <Copy value={webhookUrl} label={texts.copy} />
                  </Group>
                </dd>
              </>
            )}
          </dl>
          <Switch
            label={texts.channels.enabled}
            checked={enabled}
            onChange={({ currentTarget }) => change.mutate({ enabled: currentTarget.checked })}
          />
          <Switch
            label={texts.channels.answersBots}
            checked={answersBots}
            onChange={({ currentTarget }) => change.mutate({ answersBots: currentTarget.checked })}
          />
          <Group gap="xs">
            <Button variant="default" size="xs" onClick={() => setConnecting(true)}>
              {texts.channels.replace}
            </Button>
            <ConfirmButton
              label={texts.channels.disconnect}
              title={texts.channels.disconnectFrom(title)}
              message={texts.channels.disconnectLead}
              onConfirm={() => put(null)}
            />
          </Group>
        </Stack>
      )}
    </Section>
  )
}

/** Connections to messaging platforms. */
const ChannelsTab = ({ agent: { id } }: AgentTab) => {
  const query = useQuery(channelsQuery(id))
  return (
    <Loaded query={query}>
      {({ channels }) => (
        <>
          {platforms.map((platform) => (
            <Channel key={platform.id} agentId={id} platform={platform} channel={channels[platform.id]} />
          ))}
        </>
      )}
    </Loaded>
  )
}

export default ChannelsTab
