import { Link, useParams } from "@tanstack/react-router"
import { PageHeader } from "../parts.tsx"
import { settings } from "../settings.ts"
import { LostPage } from "../shell/LostPage.tsx"
import { texts } from "../texts.ts"
import { useTitle } from "../useTitle.ts"
import { AuditSection, InstancesSection, QueuesSection } from "./OperationSections.tsx"
import { UsersSection } from "./UsersSection.tsx"

const sections = { users: UsersSection, instances: InstancesSection, queues: QueuesSection, audit: AuditSection }

const isSection = (name: string): name is keyof typeof sections => name in sections

/** For administrators only; the API refuses others. */
const AdministrationPage = () => {
  useTitle(texts.shell.administration)
  const { section = "users" } = useParams({ strict: false })
  if (!settings.isAdministrator || !isSection(section)) return <LostPage />
  const Section = sections[section]
  return (
    <div className="page">
      <PageHeader title={texts.shell.administration} lead={texts.administration.lead} />
      <nav className="tabs page-tabs" aria-label={texts.shell.administration}>
        {Object.entries(texts.administration.tabs).map(([name, label]) => (
          <Link
            key={name}
            to="/dashboard/administration/$section"
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

export default AdministrationPage
