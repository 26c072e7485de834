import { Button, Group } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { Section, useAction } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"

/** Asks the owner of a claimed account about the contents from before; nothing without an open decision. */
export const ClaimNotice = () => {
  const refresh = useRefresh()
  const { data } = useQuery({
    queryKey: ["claim"],
    queryFn: ({ signal }) => call<{ readonly claimedAt: string | null }>("GET", "/api/settings/claim", { signal })
  })
  const settle = useAction(
    (decision: "keep" | "reset") => call("POST", "/api/settings/claim", { body: { decision } }),
    { done: texts.claim.settled, onDone: () => Promise.all([refresh("claim"), refresh("agent")]) }
  )
  if (data === undefined || data.claimedAt === null) return null
  return (
    <Section title={texts.claim.title} lead={texts.claim.lead}>
      <Group gap="xs" mb={4}>
        <ConfirmButton
          label={texts.claim.reset}
          title={texts.claim.resetTitle}
          message={texts.claim.resetLead}
          onConfirm={() => settle.mutateAsync("reset")}
        />
        <Button variant="default" disabled={settle.isPending} onClick={() => settle.mutate("keep")}>
          {texts.claim.keep}
        </Button>
      </Group>
    </Section>
  )
}
