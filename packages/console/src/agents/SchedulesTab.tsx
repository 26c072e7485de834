import { Button, Code, Collapse, Group, Modal, Stack, Switch, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { Cron } from "croner"
import { toString } from "cronstrue"
import { call, segment } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { toPlainText } from "../excerpt.ts"
import { Form, SelectField, TextareaField, TextField, useForm } from "../Form.tsx"
import { formatDateTimeIn, timezones } from "../format.ts"
import { PlusIcon } from "../icons.tsx"
import { DateTime, Empty, Moment, offerUndo, Rows, Section, StatusTag, useAction } from "../parts.tsx"
import { agentConfigQuery, agentPath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { ScheduleJson, ScheduleRunsJson, SchedulesJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

const schedulesQuery = (agentId: string) =>
  queryOptions({
    queryKey: ["agent", agentId, "schedules"],
    queryFn: ({ signal }) => call<SchedulesJson>("GET", agentPath(agentId, "/schedules"), { signal }),
    refetchInterval: 10_000
  })

const presets = texts.schedules.presets

/** Describes a cron expression in words; empty for an invalid one. */
const describeCron = (cron: string): string => {
  try {
    return toString(cron, { trimHoursLeadingZero: true })
  } catch {
    return ""
  }
}

/** Lists the next runs of a cron expression; none for an invalid one. */
const listNextRuns = (cron: string, timezone: string): ReadonlyArray<string> => {
  try {
    const times = new Cron(cron, { timezone, mode: "5-or-6-parts" }).nextRuns(3)
    // A line breaks between times only.
    return times.map((time) => formatDateTimeIn(time.toISOString(), timezone).replaceAll(" ", "\u00a0"))
  } catch {
    return []
  }
}

const History = ({ agentId, schedule: { id } }: { readonly agentId: string; readonly schedule: ScheduleJson }) => {
  const query = useQuery({
    queryKey: ["agent", agentId, "schedules", id, "runs"],
    queryFn: ({ signal }) =>
      call<ScheduleRunsJson>("GET", agentPath(agentId, `/schedules/${segment(id)}/runs`), {
        query: { limit: 20 },
        signal
      })
  })
  return (
    <Rows
      query={query}
      read={({ runs }) => runs}
      empty={
        <Text fz="sm" c="dimmed">
          {texts.schedules.noRuns}
        </Text>
      }
      className="runs"
    >
      {({ createdAt, dueAt, id: runId, reason, result, status, units }) => (
        <li key={runId}>
          <div>
            <StatusTag value={status} />
          </div>
          <DateTime at={dueAt ?? createdAt} />
          <Text fz="sm" c="dimmed" lineClamp={3}>
            {reason ?? toPlainText(result ?? "")}
          </Text>
          {units !== null && <Text fz="xs">{texts.usage.units(units)}</Text>}
        </li>
      )}
    </Rows>
  )
}

const Row = ({ agentId, schedule }: { readonly agentId: string; readonly schedule: ScheduleJson }) => {
  const { cron, enabled, heartbeat, id, lastRun, nextRuns, prompt, skillId, timezone } = schedule
  const timeOf = (at: string) => formatDateTimeIn(at, timezone)
  const [isOpen, { toggle }] = useDisclosure()
  const refresh = useRefresh()
  const reload = () => refresh("agent", agentId)
  const path = agentPath(agentId, `/schedules/${segment(id)}`)
  const set = async (isEnabled: boolean) => {
    await call("PATCH", path, { body: { enabled: isEnabled } })
    await reload()
  }
  const change = useAction(set, {
    onDone: (isEnabled) => isEnabled || offerUndo(texts.schedules.paused, () => set(true))
  })
  return (
    <li>
      <Group justify="space-between" w="100%" align="flex-start" gap="sm">
        <Stack gap={4} flex="1 1 260px" miw={0}>
          <Text fw={500} lineClamp={2}>
            {heartbeat ? texts.schedules.heartbeat : (prompt ?? texts.schedules.skill(skillId ?? ""))}
          </Text>
          <Group gap={8} fz="sm" c="dimmed">
            <span>{describeCron(cron)}</span>
            <Code>{cron}</Code>
          </Group>
          <Group gap={8} fz="sm" c="dimmed">
            {nextRuns[0] !== undefined && enabled && <span>{texts.schedules.next(timeOf(nextRuns[0]))}</span>}
            <span>{timezone}</span>
          </Group>
          {lastRun !== null && (
            <Group gap={8} fz="sm" c="dimmed">
              {texts.schedules.lastRun}
              <StatusTag value={lastRun.status} />
              <Moment at={lastRun.dueAt ?? lastRun.createdAt} />
            </Group>
          )}
        </Stack>
        <Group gap="xs">
          {!heartbeat && (
            <Switch
              label={texts.schedules.enabled(change.isPending ? change.variables : enabled)}
              checked={change.isPending ? change.variables : enabled}
              onChange={({ currentTarget }) => change.mutate(currentTarget.checked)}
            />
          )}
          <Button variant="default" size="xs" onClick={toggle} aria-expanded={isOpen}>
            {texts.schedules.history}
          </Button>
          {!heartbeat && (
            <ConfirmButton
              label={texts.remove}
              title={texts.schedules.remove}
              message={texts.schedules.removeLead}
              onConfirm={async () => {
                await call("DELETE", path)
                await reload()
              }}
            />
          )}
        </Group>
      </Group>
      <Collapse expanded={isOpen} w="100%" mt={isOpen ? 4 : 0}>
        {isOpen && (
          <div className="log-box">
            <Text fz="sm" fw={500} mb={4}>
              {texts.schedules.preview}
            </Text>
            <Text fz="sm" c="dimmed" mb="sm">
              {nextRuns.map(timeOf).join(" · ") || texts.none}
            </Text>
            <History agentId={agentId} schedule={schedule} />
          </div>
        )}
      </Collapse>
    </li>
  )
}

const NewSchedule = ({ agentId, onClose }: { readonly agentId: string; readonly onClose: () => void }) => {
  const refresh = useRefresh()
  const { data } = useQuery(agentConfigQuery(agentId))
  const form = useForm(
    { cron: "0 9 * * 1-5", prompt: "", timezone: data?.config.timezone ?? "UTC", onMissed: "once" },
    (body) => call("POST", agentPath(agentId, "/schedules"), { body }),
    {
      onDone: async () => {
        await refresh("agent", agentId)
        onClose()
      }
    }
  )
  const { cron, timezone } = form.values
  const nextRuns = listNextRuns(cron, timezone)
  return (
    <Form form={form} label={texts.schedules.create} onCancel={onClose}>
      <TextareaField
        field={form.field("prompt")}
        label={texts.schedules.prompt}
        description={texts.schedules.promptHint}
        required
        minRows={2}
        data-autofocus
      />
      <div>
        <TextField
          field={form.field("cron")}
          label={texts.schedules.cron}
          description={texts.schedules.cronHint}
          required
          classNames={{ input: "mono" }}
        />
        <Stack gap={2} mt={6} role="status">
          <Text fz="sm">{describeCron(cron)}</Text>
          {nextRuns.length > 0 && (
            <Text fz="sm" c="dimmed">
              {texts.schedules.nextRuns(nextRuns)}
            </Text>
          )}
        </Stack>
        <Group gap={6} mt={8}>
          {presets.map(([label, cron]) => (
            <Button key={cron} size="compact-xs" variant="default" onClick={() => form.change({ cron })}>
              {label}
            </Button>
          ))}
        </Group>
      </div>
      <SelectField
        field={form.field("timezone")}
        label={texts.agentSettings.timezone}
        data={timezones}
        searchable
        limit={100}
      />
      <SelectField field={form.field("onMissed")} label={texts.schedules.missed} data={texts.schedules.missedChoices} />
    </Form>
  )
}

const SchedulesTab = ({ agent: { id } }: AgentTab) => {
  const query = useQuery(schedulesQuery(id))
  const [isOpen, { close, open }] = useDisclosure()
  return (
    <>
      <Section
        title={texts.schedules.title}
        lead={texts.schedules.lead}
        actions={
          <Button leftSection={<PlusIcon size={16} />} onClick={open}>
            {texts.schedules.new}
          </Button>
        }
      >
        <Rows
          query={query}
          read={({ schedules }) => schedules}
          empty={<Empty title={texts.schedules.none}>{texts.schedules.noneHint}</Empty>}
        >
          {(schedule) => <Row key={schedule.id} agentId={id} schedule={schedule} />}
        </Rows>
      </Section>
      <Modal opened={isOpen} onClose={close} title={texts.schedules.new} closeOnClickOutside={false}>
        <NewSchedule agentId={id} onClose={close} />
      </Modal>
    </>
  )
}

export default SchedulesTab
