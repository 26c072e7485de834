import { ActionIcon, Button, Menu } from "@mantine/core"
import { useState } from "react"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { DotsIcon, PlayIcon, RetryIcon, StopIcon } from "../icons.tsx"
import { useAction } from "../parts.tsx"
import { ownInstancePath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"

type Interruption = keyof typeof texts.instance.questions

/**
 * Start, stop and repair of the instance that all agents of the user share. All but a start interrupt answers and
 * require a confirmation.
 */
export const InstanceActions = ({
  size = "sm",
  statuses
}: {
  readonly statuses: ReadonlyArray<string>
  readonly size?: "xs" | "sm"
}) => {
  const refresh = useRefresh()
  const [action, setAction] = useState<Interruption>("stop")
  const act = async (action: Interruption | "start") => {
    await call("POST", ownInstancePath(`/${action}`))
    await Promise.all([refresh("agents"), refresh("agent"), refresh("instance")])
  }
  const start = useAction(() => act("start"))
  const isUp = statuses.some((status) => status === "running" || status === "active" || status === "provisioning")
  return (
    <ConfirmButton
      isDestructive={false}
      label={texts.instance[action]}
      title={texts.instance.questions[action]}
      message={`${texts.instance.leads[action]} ${texts.instance.interrupts}`}
      onConfirm={() => act(action)}
    >
      {(open) => {
        const ask = (action: Interruption) => () => {
          setAction(action)
          open()
        }
        return (
          <Button.Group>
            <Button
              size={size}
              variant="default"
              leftSection={isUp ? <StopIcon size={16} /> : <PlayIcon size={16} />}
              loading={start.isPending}
              onClick={isUp ? ask("stop") : () => start.mutate()}
            >
              <span className="instance-label">{isUp ? texts.instance.stop : texts.instance.start}</span>
            </Button>
            <Menu position="bottom-end" width={250}>
              <Menu.Target>
                <ActionIcon
                  variant="default"
                  size={size === "xs" ? 30 : 36}
                  className="grouped"
                  aria-label={texts.instance.more}
                >
                  <DotsIcon />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Label>{texts.instance.shared}</Menu.Label>
                <Menu.Item leftSection={<RetryIcon size={16} />} onClick={ask("restart")}>
                  {texts.instance.restart}
                </Menu.Item>
                <Menu.Item onClick={ask("update")}>{texts.instance.update}</Menu.Item>
                <Menu.Item onClick={ask("repair")}>{texts.instance.repair}</Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </Button.Group>
        )
      }}
    </ConfirmButton>
  )
}
