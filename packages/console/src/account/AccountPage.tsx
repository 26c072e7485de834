import { Link, useParams } from "@tanstack/react-router"
import { lazy } from "react"
import { PageHeader } from "../parts.tsx"
import { LostPage } from "../shell/LostPage.tsx"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import { ApiKeysSection } from "./ApiKeysSection.tsx"
import { DeletionSection, ProfileSection, SessionsSection } from "./ProfileSections.tsx"
import { WebhooksSection } from "./WebhooksSection.tsx"

// Loads the signing of messages.
const WalletsSection = lazy(() => import("./WalletsSection.tsx"))

const sections = {
  profile: ProfileSection,
  keys: ApiKeysSection,
  webhooks: WebhooksSection,
  sessions: SessionsSection,
  wallets: WalletsSection,
  deletion: DeletionSection
}

const isSection = (name: string): name is keyof typeof sections => name in sections

/** Settings of the account, by sections. */
const AccountPage = () => {
  useTitle(texts.shell.settings)
  const { section = "profile" } = useParams({ strict: false })
  if (!isSection(section)) return <LostPage />
  const Section = sections[section]
  return (
    <div className="page">
      <PageHeader title={texts.shell.settings} />
      <nav className="tabs page-tabs" aria-label={texts.shell.settings}>
        {Object.entries(texts.account.tabs).map(([name, label]) => (
          <Link
            key={name}
            to="/dashboard/settings/$section"
            params={{ section: name }}
            data-status={name === section ? "active" : undefined}
            aria-current={name === section ? "page" : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Section />
    </div>
  )
}

export default AccountPage
