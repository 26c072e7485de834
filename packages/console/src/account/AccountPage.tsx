import { useParams } from "@tanstack/react-router"
import { lazyPart } from "../lazyPart.ts"
import { TabbedPage } from "../TabbedPage.tsx"
import { texts } from "../texts.ts"
import { ApiKeysSection } from "./ApiKeysSection.tsx"
import { DeletionSection, ProfileSection, SessionsSection } from "./ProfileSections.tsx"
import { WebhooksSection } from "./WebhooksSection.tsx"

// Loads the code for signing messages.
const WalletsSection = lazyPart(() => import("./WalletsSection.tsx"))

const sections = {
  profile: ProfileSection,
  keys: ApiKeysSection,
  webhooks: WebhooksSection,
  sessions: SessionsSection,
  wallets: WalletsSection,
  deletion: DeletionSection
}

const AccountPage = () => {
  const { section = "profile" } = useParams({ strict: false })
  return (
    <TabbedPage
      title={texts.shell.settings}
      to="/dashboard/settings/$section"
      labels={texts.account.tabs}
      sections={sections}
      current={section}
    />
  )
}

export default AccountPage
