import { Button, Group, NumberInput, Slider, Stack, Switch, Text, Textarea, TextInput } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useBlocker } from "@tanstack/react-router"
import { call } from "../api.ts"
import { Form, SelectField, useForm } from "../Form.tsx"
import { timezones } from "../format.ts"
import { Loaded, offerUndo, Section, useUndo } from "../parts.tsx"
import { agentConfigQuery, agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AgentConfigJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"
import { modelChoices } from "./CreateAgent.tsx"
import { customModel } from "./overviews.ts"

const usualTemperature = 0.7

const ConfigForm = ({ agentId, config }: { readonly agentId: string; readonly config: AgentConfigJson }) => {
  const refresh = useRefresh()
  const offerUndoHere = useUndo()
  const save = async (body: object) => {
    await call("PUT", agentPath(agentId, "/config"), { body })
    await Promise.all([refresh("agent", agentId), refresh("agents")])
  }
  const form = useForm(config, async (_, { changes }) => {
    await save(changes)
    const names = Object.keys(changes)
    offerUndo(texts.saved, () =>
      save(Object.fromEntries(Object.entries(config).filter(([name]) => names.includes(name))))
    )
  })
  const { change, discard, field, isChanged, values: draft } = form
  useBlocker({
    shouldBlockFn: () => isChanged && !confirm(texts.unsavedLeave),
    enableBeforeUnload: isChanged
  })
  return (
    <Form
      form={form}
      footer={
        <div className="save-bar" data-visible={isChanged}>
          <Text fz="sm" c="dimmed">
            {isChanged ? texts.unsaved : texts.allSaved}
          </Text>
          <Group gap="xs">
            <Button variant="default" disabled={!isChanged} onClick={() => offerUndoHere(texts.discarded, discard())}>
              {texts.discard}
            </Button>
            <Button type="submit" disabled={!isChanged} loading={form.isPending}>
              {texts.save}
            </Button>
          </Group>
        </div>
      }
    >
      <div>
        <Section title={texts.agents.prompt} lead={texts.agentSettings.promptLead}>
          <Textarea
            aria-label={texts.agents.prompt}
            autosize
            minRows={6}
            maxRows={24}
            maxLength={20_000}
            error={field("systemPrompt").error}
            value={draft.systemPrompt ?? ""}
            onChange={({ currentTarget: { value } }) => change({ systemPrompt: value === "" ? null : value })}
          />
        </Section>
        <Section title={texts.agentSettings.model} lead={texts.agentSettings.modelLead}>
          <Stack gap="md" maw={620}>
            <SelectField field={field("model")} label={texts.agents.model} data={modelChoices} />
            {draft.model === customModel && (
              <TextInput
                label={texts.agents.modelId}
                description={texts.agents.modelIdHint}
                required
                error={field("customModel").error}
                value={draft.customModel ?? ""}
                onChange={({ currentTarget }) => change({ customModel: currentTarget.value })}
              />
            )}
            <div>
              <Switch
                label={texts.agentSettings.ownTemperature}
                checked={draft.temperature !== null}
                onChange={({ currentTarget }) =>
                  change({ temperature: currentTarget.checked ? usualTemperature : null })
                }
              />
              {draft.temperature !== null && (
                <Group mt="sm" gap="md" wrap="nowrap">
                  <Slider
                    flex={1}
                    min={0}
                    max={2}
                    step={0.1}
                    value={draft.temperature}
                    onChange={(temperature) => change({ temperature })}
                    thumbLabel={texts.agentSettings.temperature}
                  />
                  <Text fz="sm" w={28} ta="right">
                    {draft.temperature.toFixed(1)}
                  </Text>
                </Group>
              )}
            </div>
            <NumberInput
              label={texts.agentSettings.maxTokens}
              description={texts.agentSettings.maxTokensHint}
              min={1}
              max={1_000_000}
              allowDecimal={false}
              thousandSeparator=","
              error={field("maxTokens").error}
              value={draft.maxTokens ?? ""}
              onChange={(maxTokens) => change({ maxTokens: typeof maxTokens === "number" ? maxTokens : null })}
            />
          </Stack>
        </Section>
        <Section title={texts.agentSettings.time} lead={texts.agentSettings.timeLead}>
          <Stack gap="md" maw={620}>
            <SelectField
              field={field("timezone")}
              label={texts.agentSettings.timezone}
              data={timezones}
              searchable
              limit={100}
            />
            <TextInput
              label={texts.agentSettings.heartbeat}
              description={texts.agentSettings.heartbeatHint}
              placeholder="0 9 * * 1-5"
              error={field("heartbeat").error}
              value={draft.heartbeat ?? ""}
              onChange={({ currentTarget: { value } }) => change({ heartbeat: value.trim() === "" ? null : value })}
            />
          </Stack>
        </Section>
      </div>
    </Form>
  )
}

/** Instructions, model and heartbeat of an agent. */
const SettingsTab = ({ agent: { id } }: AgentTab) => {
  const query = useQuery(agentConfigQuery(id))
  return (
    <Loaded query={query} rows={6}>
      {({ config }) => <ConfigForm agentId={id} config={config} />}
    </Loaded>
  )
}

export default SettingsTab
