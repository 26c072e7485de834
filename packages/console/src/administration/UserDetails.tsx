import { Anchor, Code, Group, Modal, Stack, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useQuery } from "@tanstack/react-query"
import { call, segment } from "../api.ts"
import { formatDateTime } from "../format.ts"
import { Address, Copy, Loaded, Moment, StatusTag } from "../parts.tsx"
import { texts } from "../texts.ts"
import type { AdministeredAccountJson, AdministeredUsersJson } from "../wire.ts"

type User = AdministeredUsersJson["users"][number]

/** Cached for a minute, since each read is recorded in the audit log. */
const Details = ({ id }: { readonly id: string }) => {
  const query = useQuery({
    queryKey: ["administration", "user", id],
    queryFn: ({ signal }) => call<AdministeredAccountJson>("GET", `/api/ops/users/${segment(id)}`, { signal }),
    staleTime: 60_000
  })
  return (
    <Loaded query={query} rows={4}>
      {({ agents, createdAt, instance, plan, subscription, units }) => (
        <Stack gap="md">
          <dl className="facts">
            <dt>{texts.administration.userId}</dt>
            <dd>
              <Group gap={4} wrap="nowrap">
                <Code>{id}</Code>
                <Copy value={id} label={texts.copy} />
              </Group>
            </dd>
            <dt>{texts.administration.created}</dt>
            <dd>{formatDateTime(createdAt)}</dd>
            <dt>{texts.administration.plan}</dt>
            <dd>
              {texts.plans[plan]}
              {subscription !== null &&
                `, ${texts.subscriptionStatuses[subscription.status] ?? subscription.status}, ${texts.administration.paidBy(subscription.byCard)}`}
            </dd>
            <dt>{texts.shell.unitsToday}</dt>
            <dd>{texts.usage.ofUnits(units.used, units.dailyUnits)}</dd>
            <dt>{texts.administration.instance}</dt>
            <dd>
              {instance === null ? (
                texts.none
              ) : (
                <Group gap={8}>
                  <StatusTag value={instance.status} />
                  {instance.startedAt !== null && <Moment at={instance.startedAt} />}
                  {instance.runtimeVersion}
                </Group>
              )}
            </dd>
          </dl>
          {agents.length > 0 && (
            <ul className="rows" aria-label={texts.shell.agents}>
              {agents.map((agent) => (
                <li key={agent.id}>
                  <div className="row-text">
                    <Text fw={500}>{agent.name}</Text>
                    <Text fz="sm" c="dimmed">
                      {agent.model}
                    </Text>
                  </div>
                  <StatusTag value={agent.status} />
                </li>
              ))}
            </ul>
          )}
          <Text fz="xs" c="dimmed">
            {texts.administration.readAudited}
          </Text>
        </Stack>
      )}
    </Loaded>
  )
}

/** The email address of a user; opens the account. */
export const UserLink = ({ user: { email, id } }: { readonly user: Pick<User, "email" | "id"> }) => {
  const [isOpen, { close, open }] = useDisclosure()
  return (
    <>
      <Anchor component="button" type="button" fz="sm" fw={500} ta="left" onClick={open}>
        <Address>{email}</Address>
      </Anchor>
      <Modal opened={isOpen} onClose={close} title={email} size="lg">
        <Details id={id} />
      </Modal>
    </>
  )
}
