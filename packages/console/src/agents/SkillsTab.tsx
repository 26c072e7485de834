import { Button, Code, FileButton, Group, Stack, Switch, Text } from "@mantine/core"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { call, segment } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { PlusIcon } from "../icons.tsx"
import { Empty, Loaded, Moment, Rows, Section, useAction } from "../parts.tsx"
import { agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { SkillJson, UploadedSkillsJson } from "../wire.ts"
import { formatSize } from "../format.ts"
import { McpServersSection } from "./McpServersSection.tsx"
import type { AgentTab } from "./AgentTab.ts"

const skillsQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "skills"],
    queryFn: async ({ signal }) =>
      (
        await call<{ readonly skills: ReadonlyArray<SkillJson> }>("GET", "/api/agent", {
          query: { action: "skills", agentId },
          signal
        })
      ).skills
  })

const uploadsQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "uploads"],
    queryFn: ({ signal }) => call<UploadedSkillsJson>("GET", agentPath(agentId, "/skills"), { signal })
  })

const readBase64 = (file: File) =>
  new Promise<string>((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("load", () =>
      resolve((typeof reader.result === "string" ? reader.result : "").split(",")[1] ?? "")
    )
    reader.addEventListener("error", () => reject(reader.error ?? new Error("The file cannot be read.")))
    reader.readAsDataURL(file)
  })

const readUpload = async (file: File) =>
  file.name.endsWith(".zip")
    ? { zip: await readBase64(file) }
    : { files: [{ path: "SKILL.md", content: await file.text() }] }

const SkillsTab = ({ agent: { id: agentId } }: AgentTab) => {
  const skills = useQuery(skillsQuery(agentId))
  const uploads = useQuery(uploadsQuery(agentId))
  const refresh = useRefresh()
  const reload = () => refresh("agent", agentId)
  const toggle = useAction(
    ({ enabled, id }: Pick<SkillJson, "id" | "enabled">) =>
      call("POST", "/api/agent", { body: { action: "update-skill", agentId, skillId: id, enabled } }),
    { onDone: reload }
  )
  const upload = useAction(
    async (file: File) => call("POST", agentPath(agentId, "/skills"), { body: await readUpload(file) }),
    { done: texts.skills.uploaded, onDone: reload }
  )
  return (
    <>
      <Section title={texts.skills.title} lead={texts.skills.lead}>
        <Loaded query={skills} rows={10}>
          {(all) => (
            <ul className="rows">
              {all.map(({ description, enabled, id, name }) => (
                <li key={id}>
                  <div className="row-text">
                    <Text fw={500}>{name}</Text>
                    <Text fz="sm" c="dimmed">
                      {description}
                    </Text>
                  </div>
                  <Switch
                    aria-label={name}
                    checked={toggle.isPending && toggle.variables.id === id ? toggle.variables.enabled : enabled}
                    onChange={({ currentTarget }) => toggle.mutate({ id, enabled: currentTarget.checked })}
                  />
                </li>
              ))}
            </ul>
          )}
        </Loaded>
      </Section>
      <Section
        title={texts.skills.own}
        lead={texts.skills.ownLead}
        actions={
          <FileButton accept=".zip,.md" onChange={(file) => file !== null && upload.mutate(file)}>
            {(props) => (
              <Button {...props} variant="default" leftSection={<PlusIcon size={16} />} loading={upload.isPending}>
                {texts.skills.upload}
              </Button>
            )}
          </FileButton>
        }
      >
        <Rows
          query={uploads}
          read={({ skills: own }) => own}
          empty={<Empty title={texts.skills.none}>{texts.skills.noneHint}</Empty>}
        >
          {({ description, id, name, size, tools, updatedAt }) => (
            <li key={id}>
              <Stack gap={2} className="row-text">
                <Text fw={500}>{name}</Text>
                <Text fz="sm" c="dimmed">
                  {description}
                </Text>
                <Group gap={6} fz="xs" c="dimmed">
                  {formatSize(size)} · <Moment at={updatedAt} />
                  {tools.map((tool) => (
                    <Code key={tool.name}>{tool.name}</Code>
                  ))}
                </Group>
              </Stack>
              <ConfirmButton
                label={texts.remove}
                title={texts.skills.remove(name)}
                message={texts.skills.removeLead}
                onConfirm={async () => {
                  await call("DELETE", agentPath(agentId, `/skills/${segment(id)}`))
                  await reload()
                }}
              />
            </li>
          )}
        </Rows>
      </Section>
      <McpServersSection agentId={agentId} />
    </>
  )
}

export default SkillsTab
