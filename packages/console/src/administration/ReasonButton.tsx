import { Button, Modal, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { ReactNode } from "react"
import { Form, TextField, useForm } from "../Form.tsx"
import { texts } from "../texts.ts"

/** An administrative action with a reason for the audit log. */
export const ReasonButton = ({
  children,
  isDestructive = false,
  label,
  onConfirm,
  submitLabel = label,
  title
}: {
  readonly isDestructive?: boolean
  readonly label: string
  readonly submitLabel?: string
  readonly title: string
  readonly children?: ReactNode
  readonly onConfirm: (reason: string, key: string) => Promise<unknown>
}) => {
  const [isOpen, { close, open }] = useDisclosure()
  const form = useForm({ reason: "" }, ({ reason }, { key }) => onConfirm(reason, key), {
    done: texts.administration.done,
    onDone: close
  })
  return (
    <>
      <Button variant="default" className={isDestructive ? "danger-button" : undefined} size="xs" onClick={open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={title}>
        <Form form={form} label={submitLabel} tone={isDestructive ? "danger" : undefined} onCancel={close}>
          {children}
          <TextField
            field={form.field("reason")}
            label={texts.administration.reason}
            description={texts.administration.reasonHint}
            required
            data-autofocus
          />
          <Text fz="xs" c="dimmed">
            {texts.administration.audited}
          </Text>
        </Form>
      </Modal>
    </>
  )
}
