import { Button } from "@mantine/core"
import { InfoIcon } from "../icons.tsx"
import { Empty } from "../parts.tsx"
import { texts } from "../texts.ts"

/** A defect of this page, or a missing file of an earlier release. */
export const BrokenPage = () => (
  <Empty
    isPage
    icon={<InfoIcon />}
    title={texts.unexpected}
    action={<Button onClick={() => location.reload()}>{texts.shell.reload}</Button>}
  />
)
