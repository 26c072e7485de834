import { Button, Code, Group, Stack, Text, TextInput } from "@mantine/core"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call } from "../api.ts"
import { PlusIcon } from "../icons.tsx"
import { ConfirmButton, Empty, Failure, Loaded, Section, useAction } from "../parts.tsx"
import { agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { McpServersJson } from "../wire.ts"

type Server = McpServersJson["servers"][number]

const serversQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "mcp-servers"],
    queryFn: ({ signal }) => call<McpServersJson>("GET", agentPath(agentId, "/mcp-servers"), { signal })
  })

const unused = { name: "", url: "", authorization: "" }

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
  const [given, setGiven] = useState(unused)
  const add = useAction(
    ({ authorization, name, url }: typeof unused) =>
      replace([
        ...servers.map(toInput),
        { name, url, headers: authorization === "" ? {} : { Authorization: authorization } }
      ]),
    { done: texts.mcpServers.added, onDone }
  )
  const field = (member: keyof typeof unused) => ({
    label: texts.mcpServers.fields[member],
    value: given[member],
    onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      setGiven({ ...given, [member]: currentTarget.value })
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate(given)
      }}
    >
      <Stack gap="sm" maw={560} mb="md">
        <TextInput {...field("name")} description={texts.mcpServers.nameHint} required maxLength={24} />
        <TextInput {...field("url")} type="url" required />
        <TextInput
          {...field("authorization")}
          description={texts.mcpServers.authorizationHint}
          type="password"
          autoComplete="off"
        />
        {add.error !== null && <Failure cause={add.error} />}
        <Group gap="xs">
          <Button type="submit" loading={add.isPending}>
            {texts.mcpServers.add}
          </Button>
          <Button variant="default" onClick={onDone}>
            {texts.cancel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** The MCP servers whose tools the agent uses. */
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
                      {url}
                      {headers.map((header) => (
                        <Code key={header}>{header}</Code>
                      ))}
                    </Group>
                  </Stack>
                  <ConfirmButton
                    label={texts.remove}
                    title={texts.mcpServers.remove(name)}
                    message={texts.mcpServers.removeLead}
                    onConfirm={() => replace(servers.filter((one) => one.name !== name).map(toInput))}
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
