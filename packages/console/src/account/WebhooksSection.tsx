import { Button, Code, Collapse, Group, Modal, MultiSelect, Switch, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, segment } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Form, TextField, useForm } from "../Form.tsx"
import { PlusIcon } from "../icons.tsx"
import { Address, Empty, Loaded, Moment, Rows, SecretOnce, Section, StatusTag, useAction } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { CreatedWebhookEndpointJson, WebhookDeliveriesJson, WebhookEndpointsJson } from "../wire.ts"

const path = (id: string, rest = "") => `/api/webhooks/endpoints/${segment(id)}${rest}`

const NewEndpoint = ({ onClose }: { readonly onClose: () => void }) => {
  const refresh = useRefresh()
  const form = useForm(
    { url: "", events: texts.webhooks.events, ordered: false },
    (body) => call<CreatedWebhookEndpointJson>("POST", "/api/webhooks/endpoints", { body }),
    { onDone: () => refresh("webhooks") }
  )
  if (form.result !== undefined)
    return <SecretOnce label={texts.webhooks.secret} value={form.result.secret} onDone={onClose} />
  return (
    <Form form={form} label={texts.webhooks.create} isBlocked={form.values.events.length === 0} onCancel={onClose}>
      <TextField
        field={form.field("url")}
        label={texts.webhooks.url}
        type="url"
        required
        placeholder="https://"
        data-autofocus
      />
      <MultiSelect label={texts.webhooks.eventsLabel} data={texts.webhooks.events} {...form.field("events")} />
      <Switch
        label={texts.webhooks.ordered}
        checked={form.values.ordered}
        onChange={({ currentTarget }) => form.change({ ordered: currentTarget.checked })}
      />
    </Form>
  )
}

const Deliveries = ({ id }: { readonly id: string }) => {
  const refresh = useRefresh()
  const query = useQuery({
    queryKey: ["webhooks", id, "deliveries"],
    queryFn: ({ signal }) =>
      call<WebhookDeliveriesJson>("GET", path(id, "/deliveries"), { query: { limit: 25 }, signal }),
    refetchInterval: 5_000
  })
  const replay = useAction((deliveryId: string) => call("POST", path(id, "/replay"), { body: { deliveryId } }), {
    done: texts.webhooks.replayed,
    onDone: () => refresh("webhooks")
  })
  return (
    <Rows
      query={query}
      read={({ deliveries }) => deliveries}
      empty={
        <Text fz="sm" c="dimmed">
          {texts.webhooks.noDeliveries}
        </Text>
      }
    >
      {({ attempts, createdAt, failure, id: deliveryId, responseStatus, status, type }) => (
        <li key={deliveryId}>
          <div className="row-text">
            <Group gap={8}>
              <StatusTag value={status} />
              <Code>{type}</Code>
              <Text fz="sm" c="dimmed">
                <Moment at={createdAt} /> · {texts.webhooks.attempts(attempts)}
                {responseStatus !== null && ` · ${responseStatus}`}
              </Text>
            </Group>
            {failure !== null && (
              <Text fz="sm" c="dimmed">
                {failure}
              </Text>
            )}
          </div>
          <Button
            size="xs"
            variant="default"
            loading={replay.isPending && replay.variables === deliveryId}
            onClick={() => replay.mutate(deliveryId)}
          >
            {texts.webhooks.replay}
          </Button>
        </li>
      )}
    </Rows>
  )
}

const Endpoint = ({ endpoint }: { readonly endpoint: WebhookEndpointsJson["endpoints"][number] }) => {
  const { createdAt, disabledReason, events, failingSince, id, status, url } = endpoint
  const [isOpen, { toggle }] = useDisclosure()
  const [secret, setSecret] = useState<string>()
  const refresh = useRefresh()
  const enable = useAction(() => call("POST", path(id, "/enable")), { onDone: () => refresh("webhooks") })
  const rotate = async () => {
    const rotated = await call<{ readonly secret: string }>("POST", path(id, "/rotate-secret"))
    setSecret(rotated.secret)
  }
  return (
    <Section
      title={<Address>{url}</Address>}
      actions={<StatusTag value={status === "enabled" && failingSince !== null ? "failing" : status} />}
    >
      <Text fz="sm" c="dimmed" mb="sm">
        {events.join(", ")} · {texts.webhooks.created} <Moment at={createdAt} />
      </Text>
      {(disabledReason ?? failingSince) !== null && (
        <Text fz="sm" c="dimmed" mb="sm">
          {disabledReason !== null ? texts.webhooks.disabledReasons[disabledReason] : texts.webhooks.failing}
        </Text>
      )}
      <Group gap="xs">
        <Button variant="default" size="xs" onClick={toggle} aria-expanded={isOpen}>
          {texts.webhooks.log}
        </Button>
        {status === "disabled" && (
          <Button variant="default" size="xs" loading={enable.isPending} onClick={() => enable.mutate()}>
            {texts.webhooks.enable}
          </Button>
        )}
        <ConfirmButton
          isDestructive={false}
          label={texts.webhooks.rotate}
          title={texts.webhooks.rotate}
          message={texts.webhooks.rotateLead}
          onConfirm={rotate}
        />
        <ConfirmButton
          label={texts.remove}
          title={texts.webhooks.remove}
          message={texts.webhooks.removeLead}
          onConfirm={async () => {
            await call("DELETE", path(id))
            await refresh("webhooks")
          }}
        />
      </Group>
      <Collapse expanded={isOpen} mt="md">
        {isOpen && (
          <div className="log-box">
            <Deliveries id={id} />
          </div>
        )}
      </Collapse>
      <Modal opened={secret !== undefined} onClose={() => setSecret(undefined)} title={texts.webhooks.rotate}>
        <SecretOnce label={texts.webhooks.secret} value={secret ?? ""} onDone={() => setSecret(undefined)} />
      </Modal>
    </Section>
  )
}

/** Webhook endpoints and their delivery logs. */
export const WebhooksSection = () => {
  const [isOpen, { close, open }] = useDisclosure()
  const query = useQuery({
    queryKey: ["webhooks"],
    queryFn: ({ signal }) => call<WebhookEndpointsJson>("GET", "/api/webhooks/endpoints", { signal })
  })
  return (
    <>
      <Section
        title={texts.account.tabs.webhooks}
        lead={texts.webhooks.lead}
        actions={
          <Button leftSection={<PlusIcon size={16} />} onClick={open}>
            {texts.webhooks.new}
          </Button>
        }
      >
        <Loaded query={query}>
          {({ endpoints }) =>
            endpoints.length === 0 && <Empty title={texts.webhooks.none}>{texts.webhooks.noneHint}</Empty>
          }
        </Loaded>
      </Section>
      {query.data?.endpoints.map((endpoint) => (
        <Endpoint key={endpoint.id} endpoint={endpoint} />
      ))}
      <Modal opened={isOpen} onClose={close} title={texts.webhooks.new} closeOnClickOutside={false}>
        <NewEndpoint onClose={close} />
      </Modal>
    </>
  )
}
