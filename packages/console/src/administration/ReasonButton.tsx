import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { useMutation } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { Failure, notifyDone } from "../parts.tsx"
import { texts } from "../texts.ts"

/** An action of an administrator, which the audit log keeps with its reason. */
export const ReasonButton = ({
  children,
  label,
  onConfirm,
  title
}: {
  readonly label: string
  readonly title: string
  readonly children?: ReactNode
  readonly onConfirm: (reason: string) => Promise<unknown>
}) => {
  const [isOpen, { close, open }] = useDisclosure()
  const [reason, setReason] = useState("")
  const act = useMutation({
    mutationFn: () => onConfirm(reason),
    onSuccess: () => {
      notifyDone(texts.administration.done)
      setReason("")
      close()
    }
  })
  return (
    <>
      <Button variant="default" size="xs" onClick={open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={close} title={title}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            act.mutate()
          }}
        >
          <Stack gap="md">
            {children}
            <TextInput
              label={texts.administration.reason}
              description={texts.administration.reasonHint}
              required
              value={reason}
              onChange={({ currentTarget }) => setReason(currentTarget.value)}
              data-autofocus
            />
            {act.error !== null && <Failure cause={act.error} />}
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={close}>
                {texts.cancel}
              </Button>
              <Button type="submit" loading={act.isPending}>
                {label}
              </Button>
            </Group>
            <Text fz="xs" c="dimmed">
              {texts.administration.audited}
            </Text>
          </Stack>
        </form>
      </Modal>
    </>
  )
}
