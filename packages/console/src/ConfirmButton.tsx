import { Button, Modal, Text } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { ReactNode } from "react"
import { Form, TextField, useForm } from "./Form.tsx"
import { findElement } from "./pages/Dom.ts"
import { texts } from "./texts.ts"

/** The chosen item of a menu disappears: the focus after the dialog returns to the button of the menu. */
export const focusMenuButton = () => findElement(HTMLElement, "[aria-haspopup=menu][aria-expanded=true]")?.focus()

/** Asks for confirmation; with `phrase`, also for its exact text. `onConfirm` receives an idempotency key. */
export const ConfirmButton = ({
  children,
  isDestructive = true,
  label,
  message,
  onConfirm,
  phrase = "",
  title
}: {
  readonly label: string
  readonly title: string
  readonly message: ReactNode
  readonly phrase?: string
  readonly isDestructive?: boolean
  readonly onConfirm: (key: string) => Promise<unknown>
  readonly children?: (open: () => void) => ReactNode
}) => {
  const [isOpen, { close, open }] = useDisclosure()
  const form = useForm({ typed: "" }, (_, { key }) => onConfirm(key), { onDone: close })
  const ask = () => {
    focusMenuButton()
    open()
  }
  const cancel = () => {
    close()
    form.discard()
  }
  return (
    <>
      {children === undefined ? (
        <Button variant="default" className={isDestructive ? "danger-button" : undefined} size="xs" onClick={ask}>
          {label}
        </Button>
      ) : (
        children(ask)
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
