import { Anchor, Button, Checkbox, Code, Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, RequestFailed, segment } from "../api.ts"
import { formatDateTime } from "../format.ts"
import { PlusIcon } from "../icons.tsx"
import { ConfirmButton, Empty, Failure, Loaded, Moment, SecretOnce, Section } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import type { ApiKeysJson, CreatedApiKeyJson } from "../wire.ts"

const scopes = ["agents", "chat", "gateway", "billing", ...(settings.isAdministrator ? ["admin"] : [])]
const dayMs = 86_400_000

const NewKey = ({ onClose }: { readonly onClose: () => void }) => {
  const refresh = useRefresh()
  const [name, setName] = useState("")
  const [chosen, setChosen] = useState<Array<string>>(["chat"])
  const [days, setDays] = useState("90")
  const create = useMutation({
    mutationFn: () =>
      call<CreatedApiKeyJson>("POST", "/api/keys", {
        body: {
          name,
          scopes: chosen,
          ...(days === "0" ? {} : { expiresAt: new Date(Date.now() + Number(days) * dayMs).toISOString() })
        }
      }),
    onSuccess: () => refresh("keys")
  })
  if (create.data !== undefined) return <SecretOnce label={texts.keys.yours} value={create.data.key} onDone={onClose} />
  const isOldSignIn = create.error instanceof RequestFailed && create.error.code === "recent_sign_in_required"
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        create.mutate()
      }}
    >
      <Stack gap="md">
        <TextInput
          label={texts.keys.name}
          description={texts.keys.nameHint}
          required
          autoComplete="off"
          data-autofocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Checkbox.Group
          label={texts.keys.scopes}
          description={texts.keys.scopesHint}
          value={chosen}
          onChange={setChosen}
        >
          <Stack gap={8} mt={8}>
            {scopes.map((scope) => (
              <Checkbox key={scope} value={scope} label={texts.keys.scopeNames[scope] ?? scope} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Select
          label={texts.keys.lifetime}
          data={texts.keys.lifetimes}
          allowDeselect={false}
          value={days}
          onChange={(next) => setDays(next ?? days)}
        />
        {create.error !== null && <Failure cause={create.error} />}
        {isOldSignIn && <Anchor href="/login?error=recent_sign_in_required">{texts.keys.signInAgain}</Anchor>}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {texts.cancel}
          </Button>
          <Button type="submit" loading={create.isPending} disabled={chosen.length === 0}>
            {texts.keys.create}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Keys for programs. */
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
      <Loaded query={query}>
        {({ keys }) =>
          keys.length === 0 ? (
            <Empty title={texts.keys.none}>{texts.keys.noneHint}</Empty>
          ) : (
            <ul className="rows" aria-label={texts.account.tabs.keys}>
              {keys.map(({ expiresAt, hint, id, lastUsedAt, name, scopes: granted }) => (
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
              ))}
            </ul>
          )
        }
      </Loaded>
      <Modal opened={isOpen} onClose={close} title={texts.keys.new} closeOnClickOutside={false}>
        <NewKey onClose={close} />
      </Modal>
    </Section>
  )
}
