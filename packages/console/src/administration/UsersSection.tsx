import { Badge, Group, NumberInput, Select, Text, TextInput } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { useState } from "react"
import { call, segment } from "../api.ts"
import { formatNumber } from "../format.ts"
import { SearchIcon } from "../icons.tsx"
import { Day, StatusTag } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AdministeredUsersJson } from "../wire.ts"
import { PagedTable } from "./PagedTable.tsx"
import { ReasonButton } from "./ReasonButton.tsx"
import { UserLink } from "./UserDetails.tsx"

const plans = Object.entries(texts.plans).map(([value, label]) => ({ value, label }))

type User = AdministeredUsersJson["users"][number]

const Actions = ({ user }: { readonly user: User }) => {
  const refresh = useRefresh()
  const [plan, setPlan] = useState<string>(user.plan)
  const [amount, setAmount] = useState(10)
  const act = async (method: string, rest: string, key: string, body: object) => {
    await call(method, `/api/ops/users/${segment(user.id)}${rest}`, {
      body,
      headers: { "idempotency-key": key }
    })
    await refresh("administration")
  }
  const isSuspended = user.suspendedAt !== null
  return (
    <Group gap={6} wrap="nowrap">
      <ReasonButton
        label={texts.administration.plan}
        submitLabel={texts.administration.setPlan}
        title={texts.administration.planOf(user.email)}
        onConfirm={(reason, key) => act("PUT", "/plan", key, { plan, reason })}
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
        submitLabel={texts.administration.adjustCredits}
        title={texts.administration.creditsOf(user.email)}
        onConfirm={(reason, key) => act("POST", "/credits", key, { amount, reason })}
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
        isDestructive={!isSuspended}
        label={isSuspended ? texts.administration.unsuspend : texts.administration.suspend}
        title={`${isSuspended ? texts.administration.unsuspend : texts.administration.suspend}: ${user.email}`}
        onConfirm={(reason, key) => act("POST", isSuspended ? "/unsuspend" : "/suspend", key, { reason })}
      >
        <Text fz="sm">{isSuspended ? texts.administration.unsuspendLead : texts.administration.suspendLead}</Text>
      </ReasonButton>
    </Group>
  )
}

/** Searches accounts by email address or id. */
export const UsersSection = () => {
  const [text, setText] = useState("")
  const [query] = useDebouncedValue(text.trim(), 300)
  return (
    <PagedTable
      title={texts.administration.tabs.users}
      lead={texts.administration.usersLead}
      path="/api/ops/users"
      readRows={({ users }: AdministeredUsersJson) => users}
      empty={texts.administration.noUsers}
      search={query === "" ? undefined : query}
      keyOf={({ id }) => id}
      columns={[
        {
          title: texts.account.email,
          render: (user) => (
            <>
              <UserLink user={user} />
              <Group gap={6}>
                {user.name !== user.email && (
                  <Text fz="xs" c="dimmed">
                    {user.name}
                  </Text>
                )}
                {!user.emailVerified && <Badge variant="default">{texts.administration.unconfirmed}</Badge>}
                {user.isAdministrator && <Badge variant="default">{texts.administration.administrator}</Badge>}
                {user.suspendedAt !== null && <StatusTag value="suspended" />}
              </Group>
            </>
          )
        },
        { title: texts.administration.plan, render: ({ plan }) => texts.plans[plan] },
        { title: texts.administration.credits, isRight: true, render: ({ credits }) => formatNumber(credits) },
        { title: texts.administration.created, render: ({ createdAt }) => <Day at={createdAt} /> },
        { title: texts.administration.actions, render: (user) => <Actions user={user} /> }
      ]}
    >
      <TextInput
        maw={360}
        mb="md"
        leftSection={<SearchIcon size={16} />}
        placeholder={texts.administration.search}
        aria-label={texts.administration.search}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
    </PagedTable>
  )
}
