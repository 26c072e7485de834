import { ActionIcon, Button, Menu, Tooltip } from "@mantine/core"
import { call } from "../api.ts"
import { DotsIcon, PlayIcon, RetryIcon, StopIcon } from "../icons.tsx"
import { useAction } from "../parts.tsx"
import { ownInstancePath, useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"

type InstanceAction = "start" | "stop" | "restart" | "update" | "repair"

/** Start, stop and repair of the instance that all agents of the user share. */
export const InstanceActions = ({
  size = "sm",
  statuses
}: {
  readonly statuses: ReadonlyArray<string>
  readonly size?: "xs" | "sm"
}) => {
  const refresh = useRefresh()
  const act = useAction((action: InstanceAction) => call("POST", ownInstancePath(`/${action}`)), {
    onDone: async () => {
      await Promise.all([refresh("agents"), refresh("agent"), refresh("instance")])
    }
  })
  const running = act.isPending ? act.variables : undefined
  const isUp = statuses.some((status) => status === "running" || status === "active" || status === "provisioning")
  return (
    <Button.Group>
      {isUp ? (
        <Button
          size={size}
          variant="default"
          leftSection={<StopIcon size={16} />}
          loading={running === "stop"}
          disabled={act.isPending}
          onClick={() => act.mutate("stop")}
        >
          <span className="instance-label">{texts.instance.stop}</span>
        </Button>
      ) : (
        <Button
          size={size}
          variant="default"
          leftSection={<PlayIcon size={16} />}
          loading={running === "start"}
          disabled={act.isPending}
          onClick={() => act.mutate("start")}
        >
          <span className="instance-label">{texts.instance.start}</span>
        </Button>
      )}
      <Menu position="bottom-end" width={250}>
        <Menu.Target>
          <Tooltip label={texts.instance.more}>
            <ActionIcon
              variant="default"
              size={size === "xs" ? 30 : 36}
              className="grouped"
              aria-label={texts.instance.more}
              loading={running !== undefined && running !== "start" && running !== "stop"}
            >
              <DotsIcon />
            </ActionIcon>
          </Tooltip>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{texts.instance.shared}</Menu.Label>
          <Menu.Item leftSection={<RetryIcon size={16} />} onClick={() => act.mutate("restart")}>
            {texts.instance.restart}
          </Menu.Item>
          <Menu.Item onClick={() => act.mutate("update")}>{texts.instance.update}</Menu.Item>
          <Menu.Item onClick={() => act.mutate("repair")}>{texts.instance.repair}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Button.Group>
  )
}
