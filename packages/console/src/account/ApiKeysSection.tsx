import { Anchor, Button, Checkbox, Code, Group, Modal, Stack, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useQuery } from "@tanstack/react-query"
import { call, RequestFailed, segment } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Form, SelectField, TextField, useForm } from "../Form.tsx"
import { formatDateTime } from "../format.ts"
import { PlusIcon } from "../icons.tsx"
import { Empty, Moment, Rows, SecretOnce, Section } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { ApiKeysJson, CreatedApiKeyJson } from "../wire.ts"

const scopes = ["agents", "chat", "gateway", "billing", ...(settings.isAdministrator ? ["admin"] : [])]
const dayMs = 86_400_000

const NewKey = ({ onClose }: { readonly onClose: () => void }) => {
  const refresh = useRefresh()
  const form = useForm(
    { name: "", scopes: ["chat"], days: "90" },
    ({ days, ...body }) =>
      call<CreatedApiKeyJson>("POST", "/api/keys", {
        body: {
          ...body,
          ...(days === "0" ? {} : { expiresAt: new Date(Date.now() + Number(days) * dayMs).toISOString() })
        }
      }),
    { onDone: () => refresh("keys") }
  )
  if (form.result !== undefined) return <SecretOnce label={texts.keys.yours} value={form.result.key} onDone={onClose} />
  const isOldSignIn = form.error instanceof RequestFailed && form.error.code === "recent_sign_in_required"
  const { error, onChange, value } = form.field("scopes")
  return (
    <Form form={form} label={texts.keys.create} isBlocked={form.values.scopes.length === 0} onCancel={onClose}>
      <TextField
        field={form.field("name")}
        label={texts.keys.name}
        description={texts.keys.nameHint}
        required
        data-autofocus
      />
      <Checkbox.Group
        label={texts.keys.scopes}
        description={texts.keys.scopesHint}
        error={error}
        value={value}
        onChange={onChange}
      >
        <Stack gap={8} mt={8}>
          {scopes.map((scope) => (
            <Checkbox key={scope} value={scope} label={texts.keys.scopeNames[scope] ?? scope} />
          ))}
        </Stack>
      </Checkbox.Group>
      <SelectField field={form.field("days")} label={texts.keys.lifetime} data={texts.keys.lifetimes} />
      {isOldSignIn && (
        <Anchor href="/login?error=recent_sign_in_required&callbackUrl=/dashboard/settings/keys">
          {texts.keys.signInAgain}
        </Anchor>
      )}
    </Form>
  )
}

export const ApiKeysSection = () => {
  const [isOpen, { close, open }] = useDisclosure()
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: ["keys"],
    queryFn: ({ signal }) => call<ApiKeysJson>("GET", "/api/keys", { query: { limit: 100 }, signal })
  })
  return (
    <Section
      title={texts.account.tabs.keys}
      lead={texts.keys.lead}
      actions={
        <Button leftSection={<PlusIcon size={16} />} onClick={open}>
          {texts.keys.new}
        </Button>
      }
    >
      <Rows
        query={query}
        read={({ keys }) => keys}
        empty={<Empty title={texts.keys.none}>{texts.keys.noneHint}</Empty>}
        label={texts.account.tabs.keys}
      >
        {({ expiresAt, hint, id, lastUsedAt, name, scopes: granted }) => (
          <li key={id}>
            <div className="row-text">
              <Group gap={8}>
                <Text fw={500}>{name}</Text>
                <Code>{hint}…</Code>
              </Group>
              <Text fz="sm" c="dimmed">
                {granted.join(", ")} ·{" "}
                {lastUsedAt === null ? (
                  texts.keys.unused
                ) : (
                  <>
                    {texts.keys.lastUsed} <Moment at={lastUsedAt} />
                  </>
                )}{" "}
                · {expiresAt === null ? texts.keys.unlimited : texts.keys.until(formatDateTime(expiresAt))}
              </Text>
            </div>
            <ConfirmButton
              label={texts.keys.revoke}
              title={texts.keys.revokeNamed(name)}
              message={texts.keys.revokeLead}
              onConfirm={async () => {
                await call("DELETE", `/api/keys/${segment(id)}`)
                await refresh("keys")
              }}
            />
          </li>
        )}
      </Rows>
      <Modal opened={isOpen} onClose={close} title={texts.keys.new} closeOnClickOutside={false}>
        <NewKey onClose={close} />
      </Modal>
    </Section>
  )
}
