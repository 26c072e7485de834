import { Box, Button, Code, Group, Stack, Text } from "@mantine/core"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Form, TextField, useForm } from "../Form.tsx"
import { PlusIcon } from "../icons.tsx"
import { Address, Empty, Loaded, Section } from "../parts.tsx"
import { agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { McpServersJson } from "../wire.ts"

type Server = McpServersJson["servers"][number]

const serversQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "mcp-servers"],
    queryFn: ({ signal }) => call<McpServersJson>("GET", agentPath(agentId, "/mcp-servers"), { signal })
  })

/** Without headers the service keeps the stored ones. */
const toInput = ({ name, url }: Server) => ({ name, url })

const AddServer = ({
  onDone,
  replace,
  servers
}: {
  readonly servers: ReadonlyArray<Server>
  readonly replace: (servers: ReadonlyArray<object>) => Promise<unknown>
  readonly onDone: () => void
}) => {
  const form = useForm(
    { name: "", url: "", authorization: "" },
    ({ authorization, name, url }) =>
      replace([
        ...servers.map(toInput),
        { name, url, headers: authorization === "" ? {} : { Authorization: authorization } }
      ]),
    { done: texts.mcpServers.added, onDone }
  )
  const { fields } = texts.mcpServers
  return (
    <Box mb="md">
      <Form form={form} label={texts.mcpServers.add} onCancel={onDone} maw={560}>
        <TextField
          field={form.field("name")}
          label={fields.name}
          description={texts.mcpServers.nameHint}
          required
          autoFocus
          maxLength={24}
        />
        <TextField field={form.field("url")} label={fields.url} type="url" required />
        <TextField
          field={form.field("authorization")}
          label={fields.authorization}
          description={texts.mcpServers.authorizationHint}
          type="password"
        />
      </Form>
    </Box>
  )
}

export const McpServersSection = ({ agentId }: { readonly agentId: string }) => {
  const query = useQuery(serversQuery(agentId))
  const refresh = useRefresh()
  const [isAdding, setAdding] = useState(false)
  const replace = async (servers: ReadonlyArray<object>) => {
    await call("PUT", agentPath(agentId, "/mcp-servers"), { body: { servers } })
    await refresh("agent", agentId)
  }
  return (
    <Section
      title={texts.mcpServers.title}
      lead={texts.mcpServers.lead}
      actions={
        !isAdding && (
          <Button variant="default" leftSection={<PlusIcon size={16} />} onClick={() => setAdding(true)}>
            {texts.mcpServers.add}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ servers }) => (
          <>
            {isAdding && <AddServer servers={servers} replace={replace} onDone={() => setAdding(false)} />}
            {servers.length === 0 && !isAdding && (
              <Empty title={texts.mcpServers.none}>{texts.mcpServers.noneHint}</Empty>
            )}
            <ul className="rows">
              {servers.map(({ headers, name, url }) => (
                <li key={name}>
                  <Stack gap={2} className="row-text">
                    <Text fw={500}>{name}</Text>
                    <Group gap={6} fz="xs" c="dimmed">
                      <span>
                        <Address>{url}</Address>
                      </span>
                      {headers.map((header) => (
                        <Code key={header}>{header}</Code>
                      ))}
                    </Group>
                  </Stack>
                  <ConfirmButton
                    label={texts.remove}
                    title={texts.mcpServers.remove(name)}
                    message={texts.mcpServers.removeLead}
                    onConfirm={() => replace(servers.filter((server) => server.name !== name).map(toInput))}
                  />
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
    </Section>
  )
}
