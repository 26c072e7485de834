import { Anchor, Button } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { PageHeader, Section, useAction } from "../parts.tsx"
import { billingQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import { findPlanName } from "./plans.ts"

/** The storage of the account and of its instance. */
const FilesPage = () => {
  useTitle(texts.files.title)
  const { data: billing } = useQuery(billingQuery)
  const { storage } = settings
  const upgrade = useAction(async () => {
    const { url } = await call<{ readonly url: string }>("POST", "/api/cardProcessor/storage-upgrade")
    location.assign(url)
  })
  return (
    <div className="page">
      <PageHeader title={texts.files.title} lead={texts.files.lead} />
      <Section
        title={texts.files.storage}
        actions={
          !storage.isUpgraded && (
            <Button loading={upgrade.isPending} onClick={() => upgrade.mutate()}>
              {texts.files.upgrade(storage.upgrade)}
            </Button>
          )
        }
      >
        <dl className="facts">
          <dt>{texts.usage.plan}</dt>
          <dd>{billing === undefined ? "…" : findPlanName(billing)}</dd>
          <dt>{texts.files.account}</dt>
          <dd>
            {storage.account}
            {storage.isUpgraded && `, ${texts.files.upgraded}`}
          </dd>
          <dt>{texts.files.instance}</dt>
          <dd>{storage.instance}</dd>
          <dt>{texts.files.address}</dt>
          <dd>
            <Anchor inherit href={settings.instanceUrl} underline="always">
              {settings.instanceUrl}
            </Anchor>
          </dd>
        </dl>
      </Section>
    </div>
  )
}

export default FilesPage
