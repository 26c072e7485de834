import { useNavigate } from "@tanstack/react-router"
import { call, segment } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Section } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AgentTab } from "./AgentTab.ts"

const DangerTab = ({ agent: { id, name } }: AgentTab) => {
  const navigate = useNavigate()
  const refresh = useRefresh()
  return (
    <Section title={texts.danger.remove} lead={texts.danger.lead} tone="danger">
      <ConfirmButton
        label={texts.danger.remove}
        title={texts.danger.removeNamed(name)}
        message={texts.danger.lead}
        phrase={name}
        onConfirm={async () => {
          await call("DELETE", `/api/agents/provision/${segment(id)}`)
          await navigate({ to: "/dashboard/agents" })
          await refresh("agents")
        }}
      />
    </Section>
  )
}

export default DangerTab
