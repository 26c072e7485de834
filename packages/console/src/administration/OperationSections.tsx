import { Code, Group, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call, segment } from "../api.ts"
import { formatNumber, formatSize } from "../format.ts"
import { DataTable, DateTime, Empty, Loaded, Moment, Rows, Section, StatusTag } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type {
  AdministeredInstancesJson,
  AuditEntriesJson,
  DeadJobsJson,
  ProviderStatusesJson,
  QueuesJson
} from "../wire.ts"
import { PagedTable } from "./PagedTable.tsx"
import { ReasonButton } from "./ReasonButton.tsx"
import { UserLink } from "./UserDetails.tsx"

const { administration } = texts

const usePost = () => {
  const refresh = useRefresh()
  return (path: string) => async (reason: string) => {
    await call("POST", path, { body: { reason } })
    await refresh("administration")
  }
}

/** Actions that have an effect in a status. */
const listInstanceActions = (status: string) =>
  status === "stopped" ? (["start", "repair"] as const) : (["stop", "restart", "repair"] as const)

export const InstancesSection = () => {
  const post = usePost()
  return (
    <PagedTable
      title={administration.tabs.instances}
      lead={administration.instancesLead}
      path="/api/ops/instances"
      readRows={({ instances }: AdministeredInstancesJson) => instances}
      empty={administration.noInstances}
      refetchInterval={5_000}
      keyOf={({ userId }) => userId}
      columns={[
        {
          title: administration.owner,
          render: ({ ownerEmail, ownerName, userId }) => (
            <>
              <UserLink user={{ id: userId, email: ownerEmail }} />
              {ownerName !== ownerEmail && (
                <Text fz="xs" c="dimmed">
                  {ownerName}
                </Text>
              )}
            </>
          )
        },
        { title: administration.status, render: ({ status }) => <StatusTag value={status} /> },
        {
          title: texts.stats.cpu,
          isRight: true,
          render: ({ cpuPercent }) => (cpuPercent === null ? "–" : `${cpuPercent.toFixed(1)}%`)
        },
        {
          title: texts.stats.memory,
          isRight: true,
          render: ({ memoryBytes }) => (memoryBytes === null ? "–" : formatSize(memoryBytes))
        },
        { title: administration.version, render: ({ runtimeVersion }) => runtimeVersion ?? "–" },
        {
          title: administration.actions,
          render: ({ ownerEmail, status, userId }) => (
            <Group gap={6} wrap="nowrap">
              {listInstanceActions(status).map((action) => (
                <ReasonButton
                  key={action}
                  label={texts.instance[action]}
                  title={administration.actionOn(texts.instance[action], ownerEmail)}
                  onConfirm={post(`/api/ops/instances/${segment(userId)}/${action}`)}
                />
              ))}
            </Group>
          )
        }
      ]}
    />
  )
}

const DeadLetters = () => {
  const post = usePost()
  const query = useQuery({
    queryKey: ["administration", "dead"],
    queryFn: ({ signal }) => call<DeadJobsJson>("GET", "/api/ops/queues/dead", { query: { limit: 50 }, signal })
  })
  return (
    <Section title={administration.dead} lead={administration.deadLead}>
      <Rows
        query={query}
        read={({ jobs }) => jobs}
        empty={<Empty title={administration.noDead}>{administration.noDeadHint}</Empty>}
      >
        {(job) => (
          <li key={job.id}>
            <div className="row-text">
              <Group gap={8}>
                <Text fw={500}>{job.queue}</Text>
                <Code>{job.id}</Code>
              </Group>
              <Text fz="sm" c="dimmed">
                {job.reason}
              </Text>
            </div>
            <Group gap={6}>
              <ReasonButton
                label={administration.replay}
                title={administration.replayLead}
                onConfirm={post(`/api/ops/queues/dead/${segment(job.id)}/replay`)}
              />
              <ReasonButton
                isDestructive
                label={administration.discard}
                title={administration.discardLead}
                onConfirm={post(`/api/ops/queues/dead/${segment(job.id)}/discard`)}
              />
            </Group>
          </li>
        )}
      </Rows>
    </Section>
  )
}

export const QueuesSection = () => {
  const post = usePost()
  const query = useQuery({
    queryKey: ["administration", "queues"],
    queryFn: ({ signal }) => call<QueuesJson>("GET", "/api/ops/queues", { signal }),
    refetchInterval: 5_000
  })
  const counts = ["waiting", "active", "delayed", "completed", "dead"] as const
  return (
    <>
      <Section title={administration.tabs.queues} lead={administration.queuesLead}>
        <Loaded query={query} rows={6}>
          {({ queues }) => (
            <DataTable
              label={administration.tabs.queues}
              rows={queues}
              keyOf={({ name }) => name}
              columns={[
                {
                  title: administration.queue,
                  render: ({ name, paused }) => (
                    <Group gap={8}>
                      {name}
                      {paused && <StatusTag value="paused" />}
                    </Group>
                  )
                },
                ...counts.map((count) => ({
                  title: administration.columns[count],
                  isRight: true,
                  render: (queue: QueuesJson["queues"][number]) => formatNumber(queue[count])
                })),
                {
                  title: administration.actions,
                  render: ({ name, paused }) => {
                    const label = paused ? administration.resume : administration.pause
                    return (
                      <ReasonButton
                        label={label}
                        title={administration.actionOn(label, name)}
                        onConfirm={post(`/api/ops/queues/${segment(name)}/${paused ? "resume" : "pause"}`)}
                      />
                    )
                  }
                }
              ]}
            />
          )}
        </Loaded>
      </Section>
      <DeadLetters />
    </>
  )
}

export const ProvidersSection = () => {
  const query = useQuery({
    queryKey: ["administration", "providers"],
    queryFn: ({ signal }) => call<ProviderStatusesJson>("GET", "/api/ops/providers", { signal }),
    refetchInterval: 15_000
  })
  return (
    <Section title={administration.tabs.providers} lead={administration.providersLead}>
      <Loaded query={query}>
        {({ providers }) =>
          providers.length === 0 ? (
            <Empty title={administration.noProviders}>{administration.noProvidersHint}</Empty>
          ) : (
            <DataTable
              label={administration.tabs.providers}
              rows={providers}
              keyOf={({ provider }) => provider}
              columns={[
                { title: texts.usage.provider, render: ({ provider }) => texts.providers[provider] },
                {
                  title: administration.status,
                  render: ({ reachable }) => <StatusTag value={reachable ? "reachable" : "unreachable"} />
                },
                { title: administration.breaker, render: ({ breaker }) => administration.breakers[breaker] },
                {
                  title: administration.lastSuccess,
                  render: ({ lastSuccess }) => (lastSuccess === null ? "–" : <Moment at={lastSuccess.at} />)
                },
                {
                  title: administration.firstText,
                  isRight: true,
                  render: ({ lastSuccess }) =>
                    lastSuccess === null ? "–" : `${formatNumber(lastSuccess.firstTextMs)} ms`
                },
                {
                  title: administration.lastFailure,
                  render: ({ lastFailure }) =>
                    lastFailure === null ? (
                      "–"
                    ) : (
                      <>
                        {administration.failures[lastFailure.kind]}, <Moment at={lastFailure.at} />
                      </>
                    )
                }
              ]}
            />
          )
        }
      </Loaded>
    </Section>
  )
}

export const AuditSection = () => (
  <PagedTable
    title={administration.tabs.audit}
    lead={administration.auditLead}
    path="/api/ops/audit"
    readRows={({ entries }: AuditEntriesJson) => entries}
    empty={administration.noAudit}
    keyOf={({ id }) => id}
    columns={[
      { title: texts.usage.when, render: ({ createdAt }) => <DateTime at={createdAt} /> },
      { title: administration.actor, render: ({ actor, actorEmail }) => actorEmail ?? <Code>{actor}</Code> },
      { title: administration.action, render: ({ action }) => administration.auditActions[action] },
      {
        title: administration.concerned,
        render: ({ userEmail, userId }) => (userEmail === null ? <Code>{userId}</Code> : userEmail)
      },
      { title: administration.reason, render: ({ reason }) => reason }
    ]}
  />
)
