import { Link } from "@tanstack/react-router"
import type { ComponentType } from "react"
import { PageHeader } from "./parts.tsx"
import { LostPage } from "./shell/LostPage.tsx"
import { useTitle } from "./useTitle.ts"

/** Scrolls the selected tab into view on a phone. */
export const showChosen = (tabList: HTMLElement | null) =>
  tabList?.querySelector("[data-status=active]")?.scrollIntoView({ block: "nearest", inline: "center" })

/** A page of sections with separate addresses and a link to each. */
export const TabbedPage = ({
  current,
  labels,
  lead,
  sections,
  title,
  to
}: {
  readonly title: string
  readonly lead?: string
  readonly to: "/dashboard/settings/$section" | "/dashboard/administration/$section"
  readonly labels: Readonly<Record<string, string>>
  readonly sections: Readonly<Record<string, ComponentType>>
  readonly current: string
}) => {
  useTitle(title)
  const Section = Object.hasOwn(sections, current) ? sections[current] : undefined
  if (Section === undefined) return <LostPage />
  return (
    <div className="page">
      <PageHeader title={title} lead={lead} />
      <nav className="tabs page-tabs" ref={showChosen} aria-label={title}>
        {Object.entries(labels).map(([name, label]) => (
          <Link
            key={name}
            to={to}
            params={{ section: name }}
            data-status={name === current ? "active" : undefined}
            aria-current={name === current ? "page" : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      <Section />
    </div>
  )
}
