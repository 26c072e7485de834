import { Button, Modal, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { ReactNode } from "react"
import { Form, TextField, useForm } from "./Form.tsx"
import { texts } from "./texts.ts"

/** Asks for confirmation; with `phrase`, also for its exact text. `onConfirm` receives an idempotency key. */
export const ConfirmButton = ({
  children,
  isDestructive = true,
  label,
  message,
  onConfirm,
  phrase = "",
  title,
  variant = "default"
}: {
  readonly label: string
  readonly title: string
  readonly message: ReactNode
  readonly phrase?: string
  readonly isDestructive?: boolean
  readonly variant?: "default" | "filled" | "subtle"
  readonly onConfirm: (key: string) => Promise<unknown>
  readonly children?: (open: () => void) => ReactNode
}) => {
  const [isOpen, { close, open }] = useDisclosure()
  const form = useForm({ typed: "" }, (_, { key }) => onConfirm(key), { onDone: close })
  const cancel = () => {
    close()
    form.discard()
  }
  return (
    <>
      {children === undefined ? (
        <Button variant={variant} className={isDestructive ? "danger-button" : undefined} size="xs" onClick={open}>
          {label}
        </Button>
      ) : (
        children(open)
      )}
      <Modal opened={isOpen} onClose={cancel} title={title}>
        <Form
          form={form}
          label={label}
          tone={isDestructive ? "danger" : undefined}
          isBlocked={form.values.typed !== phrase}
          onCancel={cancel}
        >
          <Text fz="sm">{message}</Text>
          {phrase !== "" && (
            <TextField field={form.field("typed")} label={texts.typeToConfirm(phrase)} data-autofocus />
          )}
        </Form>
      </Modal>
    </>
  )
}
