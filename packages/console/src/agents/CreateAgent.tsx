import { Anchor, Modal, Text, UnstyledButton } from "@mantine/core"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { call, RequestFailed } from "../api.ts"
import { Form, SelectField, TextareaField, TextField, useForm } from "../Form.tsx"
import { ownTimezone } from "../format.ts"
import { Notice } from "../parts.tsx"
import { useRefresh, useRepliesFromSandbox } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { ProvisionedAgentJson } from "../wire.ts"
import { customModel } from "./overviews.ts"

export const modelChoices = [
  ...settings.models.map((model) => ({ value: model, label: model })),
  { value: customModel, label: texts.agents.otherModel }
]

interface NewAgent {
  readonly name: string
  readonly model: string
  readonly customModel: string
  readonly systemPrompt: string
}

const provision = ({ customModel: modelId, model, name, systemPrompt }: NewAgent, key: string) =>
  call<ProvisionedAgentJson>("POST", "/api/agents/provision", {
    headers: { "idempotency-key": key },
    body: {
      name,
      model,
      config: {
        ...(systemPrompt.trim() === "" ? {} : { systemPrompt }),
        ...(model === customModel ? { customModel: modelId } : {}),
        timezone: ownTimezone
      }
    }
  })

/** Refusals that another plan resolves. */
const planCodes = ["subscription_required", "plan_limit_reached"]

/** `onClose` closes the surrounding dialog, if any. */
export const CreateAgentForm = ({ onClose }: { readonly onClose?: () => void }) => {
  const navigate = useNavigate()
  const refresh = useRefresh()
  const [template, setTemplate] = useState("blank")
  const form = useForm<NewAgent, ProvisionedAgentJson>(
    { name: "", model: settings.models[0] ?? customModel, customModel: "", systemPrompt: "" },
    (agent, { key }) => provision(agent, key),
    {
      onDone: async ({ agent: { id } }) => {
        await refresh("agents")
        onClose?.()
        await navigate({ to: "/dashboard/agents/$agentId/$tab", params: { agentId: id, tab: "chat" } })
      }
    }
  )
  const needsPlan = form.error instanceof RequestFailed && planCodes.includes(form.error.code)
  return (
    <Form form={form} label={texts.agents.createSubmit} onCancel={onClose}>
      <fieldset className="templates">
        <legend>{texts.agents.template}</legend>
        {texts.templates.map(({ id, lead, prompt, title }) => (
          <UnstyledButton
            key={id}
            className="template"
            aria-pressed={template === id}
            onClick={() => {
              setTemplate(id)
              const { name } = form.values
              form.change({ systemPrompt: prompt, name: name === "" && id !== "blank" ? title : name })
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
      <TextField field={form.field("name")} label={texts.agents.name} required maxLength={200} data-autofocus />
      <SelectField
        field={form.field("model")}
        label={texts.agents.model}
        data={modelChoices}
        searchable={modelChoices.length > 8}
      />
      {form.values.model === customModel && (
        <TextField
          field={form.field("customModel")}
          label={texts.agents.modelId}
          description={texts.agents.modelIdHint}
          required
        />
      )}
      <TextareaField
        field={form.field("systemPrompt")}
        label={texts.agents.prompt}
        description={texts.agents.promptHint}
        minRows={3}
        maxRows={10}
      />
      {useRepliesFromSandbox() && <Notice>{texts.agents.sandbox}</Notice>}
      {needsPlan && (
        <Anchor component={Link} to="/dashboard/plans">
          {texts.agents.choosePlan}
        </Anchor>
      )}
    </Form>
  )
}

export const CreateAgent = ({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) => (
  <Modal opened={isOpen} onClose={onClose} title={texts.agents.create} size="lg" closeOnClickOutside={false}>
    <CreateAgentForm onClose={onClose} />
  </Modal>
)
