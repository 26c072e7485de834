import { useParams } from "@tanstack/react-router"
import { TabbedPage } from "../TabbedPage.tsx"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { AuditSection, InstancesSection, ProvidersSection, QueuesSection } from "./OperationSections.tsx"
import { UsersSection } from "./UsersSection.tsx"

const sections = {
  users: UsersSection,
  instances: InstancesSection,
  providers: ProvidersSection,
  queues: QueuesSection,
  audit: AuditSection
}

/** For administrators only; the API rejects others. */
const AdministrationPage = () => {
  const { section = "users" } = useParams({ strict: false })
  return (
    <TabbedPage
      title={texts.shell.administration}
      lead={texts.administration.lead}
      to="/dashboard/administration/$section"
      labels={texts.administration.tabs}
      sections={settings.isAdministrator ? sections : {}}
      current={section}
    />
  )
}

export default AdministrationPage
