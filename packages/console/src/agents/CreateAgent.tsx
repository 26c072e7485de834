import { Anchor, Button, Group, Modal, Select, Stack, Text, Textarea, TextInput, UnstyledButton } from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { call, RequestFailed } from "../api.ts"
import { Failure, Notice } from "../parts.tsx"
import { useRefresh, useRepliesFromSandbox } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { ProvisionedAgentJson } from "../wire.ts"

const custom = "custom"

export const modelChoices = [
  ...settings.models.map((model) => ({ value: model, label: model })),
  { value: custom, label: texts.agents.otherModel }
]

interface NewAgent {
  readonly name: string
  readonly model: string
  readonly customModel: string
  readonly systemPrompt: string
}

const provision = ({ customModel, key, model, name, systemPrompt }: NewAgent & { readonly key: string }) =>
  call<ProvisionedAgentJson>("POST", "/api/agents/provision", {
    headers: { "idempotency-key": key },
    body: {
      name,
      model,
      config: {
        ...(systemPrompt.trim() === "" ? {} : { systemPrompt }),
        ...(model === custom ? { customModel } : {})
      }
    }
  })

/** `onClose` closes the surrounding dialog, if any. */
export const CreateAgentForm = ({ onClose }: { readonly onClose?: () => void }) => {
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [agent, setAgent] = useState<NewAgent>({
    name: "",
    model: settings.models[0] ?? custom,
    customModel: "",
    systemPrompt: ""
  })
  // One key per content: a retry after a lost answer creates no second agent.
  const [key, setKey] = useState(() => crypto.randomUUID())
  const [template, setTemplate] = useState("blank")
  const change = (changes: Partial<NewAgent>) => {
    setAgent({ ...agent, ...changes })
    setKey(crypto.randomUUID())
  }
  const create = useMutation({
    mutationFn: provision,
    onSuccess: async ({ agent: { id } }) => {
      await refresh("agents")
      onClose?.()
      await navigate({ to: "/dashboard/agents/$agentId/$tab", params: { agentId: id, tab: "chat" } })
    }
  })
  const needsPlan = create.error instanceof RequestFailed && create.error.code === "subscription_required"
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate({ ...agent, key })
      }}
    >
      <Stack gap="md">
        <fieldset className="templates">
          <legend>{texts.agents.template}</legend>
          {texts.templates.map(({ id, lead, prompt, title }) => (
            <UnstyledButton
              key={id}
              className="template"
              aria-pressed={template === id}
              onClick={() => {
                setTemplate(id)
                change({ systemPrompt: prompt, name: agent.name === "" && id !== "blank" ? title : agent.name })
              }}
            >
              <Text fz="sm" fw={600}>
                {title}
              </Text>
              <Text fz="xs" c="dimmed">
                {lead}
              </Text>
            </UnstyledButton>
          ))}
        </fieldset>
        <TextInput
          label={texts.agents.name}
          required
          maxLength={200}
          value={agent.name}
          autoComplete="off"
          data-autofocus
          onChange={({ currentTarget }) => change({ name: currentTarget.value })}
        />
        <Select
          label={texts.agents.model}
          data={modelChoices}
          value={agent.model}
          allowDeselect={false}
          searchable={modelChoices.length > 8}
          onChange={(model) => change({ model: model ?? custom })}
        />
        {agent.model === custom && (
          <TextInput
            label={texts.agents.modelId}
            description={texts.agents.modelIdHint}
            required
            value={agent.customModel}
            onChange={({ currentTarget }) => change({ customModel: currentTarget.value })}
          />
        )}
        <Textarea
          label={texts.agents.prompt}
          description={texts.agents.promptHint}
          autosize
          minRows={3}
          maxRows={10}
          value={agent.systemPrompt}
          onChange={({ currentTarget }) => change({ systemPrompt: currentTarget.value })}
        />
        {useRepliesFromSandbox() && <Notice>{texts.agents.sandbox}</Notice>}
        {create.error !== null && <Failure cause={create.error} />}
        {needsPlan && <Anchor href="/pricing">{texts.agents.choosePlan}</Anchor>}
        <Group justify="flex-end" gap="xs">
          {onClose !== undefined && (
            <Button variant="default" onClick={onClose}>
              {texts.cancel}
            </Button>
          )}
          <Button type="submit" loading={create.isPending}>
            {texts.agents.createSubmit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

export const CreateAgent = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) => (
  <Modal opened={isOpen} onClose={onClose} title={texts.agents.create} size="lg">
    <CreateAgentForm onClose={onClose} />
  </Modal>
)
