import { Code, Group, Table, Text } from "@mantine/core"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, segment } from "../api.ts"
import { formatSize, formatDateTime, formatNumber } from "../format.ts"
import { Empty, Loaded, Pages, ScrollTable, Section, StatusTag } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AdministeredInstancesJson, AuditEntriesJson, DeadJobsJson, QueuesJson } from "../wire.ts"
import { ReasonButton } from "./ReasonButton.tsx"

const perPage = 20

const usePost = () => {
  const refresh = useRefresh()
  return (path: string) => async (reason: string) => {
    await call("POST", path, { body: { reason } })
    await refresh("administration")
  }
}

const instanceActions = ["start", "stop", "restart", "repair"] as const

export const InstancesSection = () => {
  const [page, setPage] = useState(1)
  const post = usePost()
  const query = useQuery({
    queryKey: ["administration", "instances", page],
    queryFn: ({ signal }) =>
      call<AdministeredInstancesJson>("GET", "/api/ops/instances", {
        query: { limit: perPage, offset: (page - 1) * perPage },
        signal
      }),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000
  })
  return (
    <Section title={texts.administration.tabs.instances} lead={texts.administration.instancesLead}>
      <Loaded query={query} rows={6}>
        {({ instances, total }) =>
          total === 0 ? (
            <Empty title={texts.administration.noInstances} />
          ) : (
            <>
              <ScrollTable label={texts.administration.tabs.instances} minWidth={820}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{texts.administration.user}</Table.Th>
                    <Table.Th>{texts.administration.status}</Table.Th>
                    <Table.Th ta="right">{texts.stats.cpu}</Table.Th>
                    <Table.Th ta="right">{texts.stats.memory}</Table.Th>
                    <Table.Th>{texts.administration.version}</Table.Th>
                    <Table.Th ta="right">{texts.administration.actions}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {instances.map(({ cpuPercent, memoryBytes, runtimeVersion, status, userId }) => (
                    <Table.Tr key={userId}>
                      <Table.Td>
                        <Code>{userId}</Code>
                      </Table.Td>
                      <Table.Td>
                        <StatusTag value={status} />
                      </Table.Td>
                      <Table.Td ta="right">{cpuPercent === null ? "–" : `${cpuPercent.toFixed(1)} %`}</Table.Td>
                      <Table.Td ta="right">{memoryBytes === null ? "–" : formatSize(memoryBytes)}</Table.Td>
                      <Table.Td>{runtimeVersion ?? "–"}</Table.Td>
                      <Table.Td>
                        <Group gap={6} wrap="nowrap" justify="flex-end">
                          {instanceActions.map((action) => (
                            <ReasonButton
                              key={action}
                              label={texts.instance[action]}
                              title={texts.administration.actionOn(texts.instance[action], userId)}
                              onConfirm={post(`/api/ops/instances/${segment(userId)}/${action}`)}
                            />
                          ))}
                        </Group>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </ScrollTable>
              <Pages total={total} perPage={perPage} page={page} onChange={setPage} />
            </>
          )
        }
      </Loaded>
    </Section>
  )
}

const DeadLetters = () => {
  const post = usePost()
  const query = useQuery({
    queryKey: ["administration", "dead"],
    queryFn: ({ signal }) => call<DeadJobsJson>("GET", "/api/ops/queues/dead", { query: { limit: 50 }, signal })
  })
  return (
    <Section title={texts.administration.dead} lead={texts.administration.deadLead}>
      <Loaded query={query}>
        {({ jobs }) =>
          jobs.length === 0 ? (
            <Empty title={texts.administration.noDead}>{texts.administration.noDeadHint}</Empty>
          ) : (
            <ul className="rows">
              {jobs.map((job) => (
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
                      label={texts.administration.replay}
                      title={texts.administration.replayLead}
                      onConfirm={post(`/api/ops/queues/dead/${segment(job.id)}/replay`)}
                    />
                    <ReasonButton
                      label={texts.administration.discard}
                      title={texts.administration.discardLead}
                      onConfirm={post(`/api/ops/queues/dead/${segment(job.id)}/discard`)}
                    />
                  </Group>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
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
  const columns = ["waiting", "active", "delayed", "completed", "dead"] as const
  return (
    <>
      <Section title={texts.administration.tabs.queues} lead={texts.administration.queuesLead}>
        <Loaded query={query} rows={6}>
          {({ queues }) => (
            <ScrollTable label={texts.administration.tabs.queues} minWidth={680}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{texts.administration.queue}</Table.Th>
                  {columns.map((column) => (
                    <Table.Th key={column} ta="right">
                      {texts.administration.columns[column]}
                    </Table.Th>
                  ))}
                  <Table.Th ta="right">{texts.administration.actions}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {queues.map((queue) => (
                  <Table.Tr key={queue.name}>
                    <Table.Td>
                      <Group gap={8}>
                        {queue.name}
                        {queue.paused && <StatusTag value="paused" />}
                      </Group>
                    </Table.Td>
                    {columns.map((column) => (
                      <Table.Td key={column} ta="right">
                        {formatNumber(queue[column])}
                      </Table.Td>
                    ))}
                    <Table.Td ta="right">
                      <ReasonButton
                        label={queue.paused ? texts.administration.resume : texts.administration.pause}
                        title={texts.administration.actionOn(
                          queue.paused ? texts.administration.resume : texts.administration.pause,
                          queue.name
                        )}
                        onConfirm={post(`/api/ops/queues/${segment(queue.name)}/${queue.paused ? "resume" : "pause"}`)}
                      />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </ScrollTable>
          )}
        </Loaded>
      </Section>
      <DeadLetters />
    </>
  )
}

export const AuditSection = () => {
  const [page, setPage] = useState(1)
  const query = useQuery({
    queryKey: ["administration", "audit", page],
    queryFn: ({ signal }) =>
      call<AuditEntriesJson>("GET", "/api/ops/audit", {
        query: { limit: perPage, offset: (page - 1) * perPage },
        signal
      }),
    placeholderData: keepPreviousData
  })
  return (
    <Section title={texts.administration.tabs.audit} lead={texts.administration.auditLead}>
      <Loaded query={query} rows={6}>
        {({ entries, total }) =>
          total === 0 ? (
            <Empty title={texts.administration.noAudit} />
          ) : (
            <>
              <ScrollTable label={texts.administration.tabs.audit} minWidth={680}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{texts.usage.when}</Table.Th>
                    <Table.Th>{texts.administration.actor}</Table.Th>
                    <Table.Th>{texts.administration.action}</Table.Th>
                    <Table.Th>{texts.administration.reason}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {entries.map((entry) => (
                    <Table.Tr key={entry.id}>
                      <Table.Td>{formatDateTime(entry.createdAt)}</Table.Td>
                      <Table.Td>
                        <Code>{entry.actor}</Code>
                      </Table.Td>
                      <Table.Td>{entry.action}</Table.Td>
                      <Table.Td>{entry.reason}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </ScrollTable>
              <Pages total={total} perPage={perPage} page={page} onChange={setPage} />
            </>
          )
        }
      </Loaded>
    </Section>
  )
}
