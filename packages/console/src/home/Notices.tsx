import { Anchor, CloseButton, Group, Stack, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { Link, Outlet, useParams } from "@tanstack/react-router"
import { useState } from "react"
import { call } from "../api.ts"
import { notifyDone, useAction } from "../parts.tsx"
import { agentConfigQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useBudgetWarning } from "../usage/budgets.ts"

const Confirmation = () => {
  const resend = useAction(async () => {
    const { message } = await call<{ readonly message: string }>("POST", "/api/auth/verify-email")
    notifyDone(message)
  })
  return (
    <section className="notice" aria-label={texts.notices.confirm}>
      <Text fz="sm">
        <strong>{texts.notices.confirm}.</strong> {texts.notices.confirmLead(settings.email.address)}{" "}
        <Anchor
          inherit
          underline="always"
          component="button"
          type="button"
          disabled={resend.isPending}
          onClick={() => resend.mutate()}
        >
          {texts.notices.resend}
        </Anchor>
      </Text>
      {settings.logsMailLinks && <Text fz="xs">{texts.notices.confirmInLog}</Text>}
    </section>
  )
}

const MissingEmail = () => (
  <section className="notice" aria-label={texts.notices.missing}>
    <Text fz="sm">
      <strong>{texts.notices.missing}.</strong> {texts.notices.missingLead}{" "}
      <Anchor inherit underline="always" component={Link} to="/dashboard/settings">
        {texts.notices.toProfile}
      </Anchor>
    </Text>
  </section>
)

/**
 * Outcomes of redirects, warnings about the email address and budgets, and the model that replaces an agent's, on every
 * page.
 */
export const Notices = () => {
  const [outcomes, setOutcomes] = useState(settings.notices)
  // An agent's pages fill the window.
  const { agentId } = useParams({ strict: false })
  const notice = agentId === undefined ? settings.email.notice : null
  const { data: { warning } = { warning: null } } = useQuery({
    ...agentConfigQuery(agentId ?? ""),
    enabled: agentId !== undefined
  })
  const budget = useBudgetWarning(agentId)
  return (
    <>
      {(outcomes.length > 0 || notice !== null || warning !== null || budget !== null) && (
        <Stack gap="xs" className="notices">
          {outcomes.map(({ text, tone }) => (
            <div key={text} className="notice" data-tone={tone} role={tone === "bad" ? "alert" : "status"}>
              <Group justify="space-between" wrap="nowrap" gap="sm">
                <Text fz="sm">{text}</Text>
                <CloseButton
                  c="inherit"
                  size="sm"
                  aria-label={texts.close}
                  onClick={() => setOutcomes(outcomes.filter((outcome) => outcome.text !== text))}
                />
              </Group>
            </div>
          ))}
          {warning !== null && (
            <Text className="notice" data-tone="idle" role="status" fz="sm">
              {warning}
            </Text>
          )}
          {budget !== null && (
            <Text className="notice" data-tone="busy" role="status" fz="sm">
              {budget}{" "}
              <Anchor inherit underline="always" component={Link} to="/dashboard/usage">
                {texts.budgets.toBudgets}
              </Anchor>
            </Text>
          )}
          {notice === "unconfirmed" && <Confirmation />}
          {notice === "missing" && <MissingEmail />}
        </Stack>
      )}
      <Outlet />
    </>
  )
}
