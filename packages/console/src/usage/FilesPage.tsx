import { Anchor, Button } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { call } from "../api.ts"
import { Address, Fact, PageHeader, Section, useAction } from "../parts.tsx"
import { billingQuery, storageQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import { findPlanName } from "./plans.ts"
import { describeStorage } from "./storage.ts"

/** The storage of the account and its instance. */
const FilesPage = () => {
  useTitle(texts.files.title)
  const { data: billing } = useQuery(billingQuery)
  const { data: used } = useQuery(storageQuery)
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
          storage.upgrade !== null && (
            <Button loading={upgrade.isPending} onClick={() => upgrade.mutate()}>
              {texts.files.upgrade(storage.upgrade)}
            </Button>
          )
        }
      >
        <dl className="facts">
          <Fact label={texts.usage.plan}>{billing === undefined ? "…" : findPlanName(billing)}</Fact>
          <Fact label={texts.files.account}>
            {storage.account}
            {storage.isUpgraded && `, ${texts.files.upgraded}`}
          </Fact>
          <Fact label={texts.files.instance}>{storage.instance}</Fact>
          <Fact label={texts.files.used}>{used !== undefined && describeStorage(used)}</Fact>
          <Fact label={texts.files.address}>
            {used !== undefined && (
              <Anchor inherit href={settings.instanceUrl} underline="always">
                <Address>{settings.instanceUrl}</Address>
              </Anchor>
            )}
          </Fact>
        </dl>
      </Section>
    </div>
  )
}

export default FilesPage
