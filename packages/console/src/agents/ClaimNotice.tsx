import { Box, Group } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { ConfirmButton } from "../ConfirmButton.tsx"
import { notifyDone, Section } from "../parts.tsx"
import { useRefresh } from "../queries.ts"
import { texts } from "../texts.ts"

/** Asks the owner of a claimed account to keep or reset its earlier contents; nothing without an open decision. */
export const ClaimNotice = () => {
  const refresh = useRefresh()
  const { data } = useQuery({
    queryKey: ["claim"],
    queryFn: ({ signal }) => call<{ readonly claimedAt: string | null }>("GET", "/api/settings/claim", { signal })
  })
  const settle = (decision: "keep" | "reset") => async () => {
    await call("POST", "/api/settings/claim", { body: { decision } })
    notifyDone(texts.claim.settled)
    await Promise.all([refresh("claim"), refresh("agent")])
  }
  if (data === undefined || data.claimedAt === null) return null
  return (
    <Box mb="md">
      <Section title={texts.claim.title} lead={texts.claim.lead}>
        <Group gap="xs">
          <ConfirmButton
            label={texts.claim.reset}
            title={texts.claim.resetTitle}
            message={texts.claim.resetLead}
            onConfirm={settle("reset")}
          />
          <ConfirmButton
            isDestructive={false}
            label={texts.claim.keep}
            title={texts.claim.keepTitle}
            message={texts.claim.keepLead}
            onConfirm={settle("keep")}
          />
        </Group>
      </Section>
    </Box>
  )
}
