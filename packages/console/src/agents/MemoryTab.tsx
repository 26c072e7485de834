import { Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { toPlainText } from "../excerpt.ts"
import { Empty, Rows, Section } from "../parts.tsx"
import { ownInstancePath, useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { MemoryJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

const excerpt = (content: string) =>
  `${toPlainText(content)}${[...content].length < settings.recentMemoryCharacters ? "" : "…"}`

/** The agent's recent memory, and its reset. */
const MemoryTab = ({ agent: { id, name } }: AgentTab) => {
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: ["agent", id, "memory"],
    queryFn: async ({ signal }) =>
      (
        await call<{ readonly memory: ReadonlyArray<MemoryJson> }>("GET", "/api/agent", {
          query: { action: "memory", agentId: id },
          signal
        })
      ).memory
  })
  return (
    <>
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
