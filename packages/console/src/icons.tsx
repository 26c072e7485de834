import type { ReactNode } from "react"

const icon = (name: string, content: ReactNode) => {
  const Icon = ({ size = 18 }: { readonly size?: number }) => (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      data-icon={name}
    >
      {content}
    </svg>
  )
  return Icon
}

const path = (d: string) => <path d={d} />

export const AgentsIcon = icon(
  "agents",
  <>
    <rect x="4" y="8" width="16" height="12" rx="3" />
    {path("M12 8V4M9 14h.01M15 14h.01M2 13v3M22 13v3")}
    <circle cx="12" cy="3.5" r="1" />
  </>
)
export const UsageIcon = icon("usage", path("M4 20V10M10 20V4M16 20v-7M22 20H2"))
export const PlansIcon = icon(
  "plans",
  <>
    <rect x="3" y="5" width="18" height="14" rx="2.5" />
    {path("M3 10h18M7 15h4")}
  </>
)
export const SettingsIcon = icon(
  "settings",
  <>
    {path("M4 7h9M17 7h3M4 17h3M11 17h9")}
    <circle cx="15" cy="7" r="2" />
    <circle cx="9" cy="17" r="2" />
  </>
)
export const ShieldIcon = icon("shield", path("M12 3l7 3v5c0 5-3 8.5-7 10-4-1.5-7-5-7-10V6z"))
export const SearchIcon = icon(
  "search",
  <>
    <circle cx="11" cy="11" r="6.5" />
    {path("M20 20l-4-4")}
  </>
)
export const PlusIcon = icon("plus", path("M12 5v14M5 12h14"))
export const SunIcon = icon(
  "sun",
  <>
    <circle cx="12" cy="12" r="4" />
    {path("M12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4")}
  </>
)
export const MoonIcon = icon("moon", path("M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z"))
export const SendIcon = icon("send", path("M12 19V5M6 11l6-6 6 6"))
export const CopyIcon = icon(
  "copy",
  <>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    {path("M5 15H4V4h11v1")}
  </>
)
export const CheckIcon = icon("check", path("M5 12.5l4.5 4.5L19 7"))
export const RetryIcon = icon("retry", path("M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6"))
export const PlayIcon = icon("play", path("M7 4.5v15l12-7.5z"))
export const SkillIcon = icon("skill", path("M14 6a4 4 0 0 0 5 5l-8.5 8.5a2 2 0 0 1-3-3L16 8"))
export const StopIcon = icon("stop", <rect x="6" y="6" width="12" height="12" rx="2" />)
export const EditIcon = icon("edit", path("M4 20h4L19 9l-4-4L4 16zM13 7l4 4"))
export const TrashIcon = icon("trash", path("M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13"))
export const ChatIcon = icon("chat", path("M4 5h16v11H9l-5 4z"))
export const DotsIcon = icon(
  "dots",
  <>
    <circle cx="5" cy="12" r="1" />
    <circle cx="12" cy="12" r="1" />
    <circle cx="19" cy="12" r="1" />
  </>
)
export const DocsIcon = icon("docs", path("M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h7"))
export const SignOutIcon = icon("sign-out", path("M14 4H5v16h9M10 12h11M17 8l4 4-4 4"))
export const ListIcon = icon("list", path("M4 6h16M4 12h16M4 18h10"))
export const CloseIcon = icon("close", path("M6 6l12 12M18 6L6 18"))
export const FileIcon = icon("file", path("M6 3h8l5 5v13H6zM14 3v5h5"))
export const AttachIcon = icon(
  "attach",
  path("M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.6-8.6a3.3 3.3 0 0 1 4.7 4.7l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.8-7.8")
)
export const DownIcon = icon("down", path("M6 9l6 6 6-6"))
export const UserIcon = icon(
  "user",
  <>
    <circle cx="12" cy="8" r="4" />
    {path("M4 21c0-4.5 3.5-7 8-7s8 2.5 8 7")}
  </>
)
export const InfoIcon = icon(
  "info",
  <>
    <circle cx="12" cy="12" r="9" />
    {path("M12 11v6M12 7.5v.01")}
  </>
)
