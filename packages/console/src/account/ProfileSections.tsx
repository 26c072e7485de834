import { Badge, Group, PasswordInput, Stack, Switch, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, segment } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Form, PasswordField, TextField, useForm } from "../Form.tsx"
import { formatUserAgent } from "../format.ts"
import { Loaded, Moment, notifyDone, Section, useAction } from "../parts.tsx"
import { accountQuery, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AccountJson, AccountWithNotificationsJson, SignInSessionsJson } from "../wire.ts"

const ProfileForm = ({ account: { email, name } }: { readonly account: AccountJson }) => {
  const refresh = useRefresh()
  const form = useForm({ name, email }, (body) => call("POST", "/api/settings", { body }), {
    onDone: async (_, sent) => {
      await refresh("account")
      notifyDone(sent.email === email ? texts.saved : texts.account.emailChanged)
    }
  })
  return (
    <Form form={form} label={texts.save} isBlocked={!form.isChanged} maw={480}>
      <TextField field={form.field("name")} label={texts.account.name} required autoComplete="name" />
      <TextField field={form.field("email")} label={texts.account.email} type="email" required autoComplete="email" />
    </Form>
  )
}

const PasswordForm = ({ email }: { readonly email: string }) => {
  const form = useForm(
    { currentPassword: "", newPassword: "" },
    (body) => call("POST", "/api/settings/password", { body }),
    { done: texts.account.passwordChanged }
  )
  return (
    <Form form={form} label={texts.account.changePassword} variant="default" maw={480}>
      <input type="hidden" name="username" autoComplete="username" value={email} />
      <PasswordField
        field={form.field("currentPassword")}
        label={texts.account.currentPassword}
        required
        autoComplete="current-password"
      />
      <PasswordField
        field={form.field("newPassword")}
        label={texts.account.newPassword}
        required
        autoComplete="new-password"
      />
    </Form>
  )
}

type Preferences = AccountWithNotificationsJson["notifications"]

const choices = ["email", "security", "agentStatus", "product"] as const

const notificationsKey = ["notifications"]

/** A change without members returns the current choices. */
const NotificationChoices = () => {
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: notificationsKey,
    queryFn: async () =>
      (await call<AccountWithNotificationsJson>("PATCH", "/api/settings", { body: {} })).notifications
  })
  const change = useAction(
    (notifications: Partial<Preferences>) => call("PATCH", "/api/settings", { body: { notifications } }),
    { onDone: () => refresh("notifications") }
  )
  return (
    <Loaded query={query}>
      {(preferences) => (
        <Stack gap="sm">
          {choices.map((name) => (
            <Switch
              key={name}
              label={texts.account.notifications[name]}
              checked={(change.isPending ? change.variables[name] : undefined) ?? preferences[name]}
              onChange={({ currentTarget }) => change.mutate({ [name]: currentTarget.checked })}
            />
          ))}
        </Stack>
      )}
    </Loaded>
  )
}

export const ProfileSection = () => {
  const query = useQuery(accountQuery)
  return (
    <>
      <Section title={texts.account.profile}>
        <Loaded query={query}>
          {(account) => <ProfileForm key={`${account.name} ${account.email}`} account={account} />}
        </Loaded>
      </Section>
      <Section title={texts.account.password} lead={texts.account.passwordLead}>
        <PasswordForm email={query.data?.email ?? ""} />
      </Section>
      <Section title={texts.account.notificationsTitle} lead={texts.account.notificationsLead}>
        <NotificationChoices />
      </Section>
    </>
  )
}

export const SessionsSection = () => {
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: ["sessions"],
    queryFn: ({ signal }) => call<SignInSessionsJson>("GET", "/api/auth/sessions", { signal })
  })
  return (
    <Section title={texts.account.tabs.sessions} lead={texts.account.sessionsLead}>
      <Loaded query={query}>
        {({ sessions }) => (
          <ul className="rows">
            {sessions.map(({ address, createdAt, current, id, lastSeenAt, userAgent }) => (
              <li key={id}>
                <div className="row-text">
                  <Group gap={8}>
                    <Text fw={500}>{formatUserAgent(userAgent)}</Text>
                    {current && <Badge variant="default">{texts.account.thisSession}</Badge>}
                  </Group>
                  <Text fz="sm" c="dimmed">
                    {address ?? texts.account.unknownNetwork} · {texts.account.signedIn} <Moment at={createdAt} /> ·{" "}
                    {texts.account.lastSeen} <Moment at={lastSeenAt} />
                  </Text>
                </div>
                {!current && (
                  <ConfirmButton
                    label={texts.account.end}
                    title={texts.account.endOn(formatUserAgent(userAgent))}
                    message={texts.account.endLead}
                    onConfirm={async () => {
                      await call("DELETE", `/api/auth/sessions/${segment(id)}`)
                      await refresh("sessions")
                    }}
                  />
                )}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}

export const DeletionSection = () => {
  const [password, setPassword] = useState("")
  const { data: account } = useQuery(accountQuery)
  return (
    <Section title={texts.account.tabs.deletion} lead={texts.account.deletionLead} tone="danger">
      <Stack gap="md" maw={480}>
        <PasswordInput
          label={texts.account.deletionPassword}
          description={texts.account.deletionPasswordHint}
          autoComplete="current-password"
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        <Group>
          <ConfirmButton
            label={texts.account.tabs.deletion}
            title={texts.account.tabs.deletion}
            message={texts.account.deletionLead}
            phrase={account?.email ?? "…"}
            onConfirm={async () => {
              await call("DELETE", "/api/settings", { body: password === "" ? { confirm: true } : { password } })
              location.assign("/login")
            }}
          />
        </Group>
      </Stack>
    </Section>
  )
}
