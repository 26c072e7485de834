import { Badge, Group, NumberInput, Select, Table, Text, TextInput } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, segment } from "../api.ts"
import { formatDateTime, formatNumber } from "../format.ts"
import { SearchIcon } from "../icons.tsx"
import { Empty, Loaded, Pages, ScrollTable, Section, StatusTag } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AdministeredUsersJson } from "../wire.ts"
import { ReasonButton } from "./ReasonButton.tsx"
import { UserLink } from "./UserDetails.tsx"

const perPage = 20
const plans = ["free", "solo", "collective", "label", "network", "starter", "pro", "scale"]

type User = AdministeredUsersJson["users"][number]

const Actions = ({ user }: { readonly user: User }) => {
  const refresh = useRefresh()
  const [plan, setPlan] = useState<string>(user.plan)
  const [amount, setAmount] = useState(10)
  const act = (method: string, rest: string, body: object) => async () => {
    await call(method, `/api/ops/users/${segment(user.id)}${rest}`, {
      body,
      headers: { "idempotency-key": crypto.randomUUID() }
    })
    await refresh("administration")
  }
  const isSuspended = user.suspendedAt !== null
  return (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      <ReasonButton
        label={texts.administration.plan}
        title={texts.administration.planOf(user.email)}
        onConfirm={(reason) => act("PUT", "/plan", { plan, reason })()}
      >
        <Select
          label={texts.administration.plan}
          data={plans}
          value={plan}
          allowDeselect={false}
          onChange={(next) => setPlan(next ?? plan)}
        />
      </ReasonButton>
      <ReasonButton
        label={texts.administration.credits}
        title={texts.administration.creditsOf(user.email)}
        onConfirm={(reason) => act("POST", "/credits", { amount, reason })()}
      >
        <NumberInput
          label={texts.administration.amount}
          description={texts.administration.amountHint}
          decimalScale={2}
          value={amount}
          onChange={(next) => setAmount(Number(next))}
        />
      </ReasonButton>
      <ReasonButton
        label={isSuspended ? texts.administration.unsuspend : texts.administration.suspend}
        title={`${isSuspended ? texts.administration.unsuspend : texts.administration.suspend}: ${user.email}`}
        onConfirm={(reason) => act("POST", isSuspended ? "/unsuspend" : "/suspend", { reason })()}
      >
        <Text fz="sm">{isSuspended ? texts.administration.unsuspendLead : texts.administration.suspendLead}</Text>
      </ReasonButton>
    </Group>
  )
}

/** Accounts by email address or id. */
export const UsersSection = () => {
  const [text, setText] = useState("")
  const [page, setPage] = useState(1)
  const [wanted] = useDebouncedValue(text.trim(), 300)
  const query = useQuery({
    queryKey: ["administration", "users", wanted, page],
    queryFn: ({ signal }) =>
      call<AdministeredUsersJson>("GET", "/api/ops/users", {
        query: { query: wanted === "" ? undefined : wanted, limit: perPage, offset: (page - 1) * perPage },
        signal
      }),
    placeholderData: keepPreviousData
  })
  return (
    <Section title={texts.administration.tabs.users} lead={texts.administration.usersLead}>
      <TextInput
        maw={360}
        mb="md"
        leftSection={<SearchIcon size={16} />}
        placeholder={texts.administration.search}
        aria-label={texts.administration.search}
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setPage(1)
        }}
      />
      <Loaded query={query} rows={6}>
        {({ total, users }) =>
          total === 0 ? (
            <Empty title={texts.administration.noUsers} />
          ) : (
            <>
              <ScrollTable label={texts.administration.tabs.users} minWidth={760}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{texts.account.email}</Table.Th>
                    <Table.Th>{texts.administration.plan}</Table.Th>
                    <Table.Th ta="right">{texts.administration.credits}</Table.Th>
                    <Table.Th>{texts.administration.created}</Table.Th>
                    <Table.Th ta="right">{texts.administration.actions}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {users.map((user) => (
                    <Table.Tr key={user.id}>
                      <Table.Td>
                        <UserLink user={user} />
                        <Group gap={6}>
                          <Text fz="xs" c="dimmed">
                            {user.name}
                          </Text>
                          {!user.emailVerified && <Badge variant="default">{texts.administration.unconfirmed}</Badge>}
                          {user.isAdministrator && (
                            <Badge variant="default">{texts.administration.administrator}</Badge>
                          )}
                          {user.suspendedAt !== null && <StatusTag value="suspended" />}
                        </Group>
                      </Table.Td>
                      <Table.Td>{user.plan}</Table.Td>
                      <Table.Td ta="right">{formatNumber(user.credits)}</Table.Td>
                      <Table.Td>{formatDateTime(user.createdAt)}</Table.Td>
                      <Table.Td>
                        <Actions user={user} />
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
