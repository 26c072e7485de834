import { Button } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { Loaded, Moment, Section, StatusTag } from "../parts.tsx"
import { agentDetailQuery } from "../queries.ts"
import { texts } from "../texts.ts"
import type { AgentTab } from "./AgentTab.ts"

/** Whether the agent is verified; the steps are on a page of their own. */
const VerificationTab = ({ agent: { id } }: AgentTab) => (
  <Section title={texts.verification.title} lead={texts.verification.lead}>
    <Loaded query={useQuery(agentDetailQuery(id))}>
      {({ attestationUid, verificationType, verified, verifiedAt }) => (
        <>
          <dl className="facts">
            <dt>{texts.verification.state}</dt>
            <dd>
              <StatusTag value={verified ? "succeeded" : "off"} />{" "}
              {verified ? texts.verification.yes : texts.verification.no}
            </dd>
            {verificationType !== null && (
              <>
                <dt>{texts.verification.method}</dt>
                <dd>{verificationType}</dd>
              </>
            )}
            {attestationUid !== null && (
              <>
                <dt>{texts.verification.attestation}</dt>
                <dd>{attestationUid}</dd>
              </>
            )}
            {verifiedAt !== null && (
              <>
                <dt>{texts.verification.since}</dt>
                <dd>
                  <Moment at={verifiedAt} />
                </dd>
              </>
            )}
          </dl>
          <Button
            component="a"
            href={`/dashboard/agents/${encodeURIComponent(id)}/verification`}
            variant="default"
            mt="md"
          >
            {verified ? texts.verification.manage : texts.verification.start}
          </Button>
        </>
      )}
    </Loaded>
  </Section>
)

export default VerificationTab
