import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Center,
  Group,
  Kbd,
  Loader,
  Menu,
  Text,
  Tooltip,
  UnstyledButton
} from "@mantine/core"
import { useDisclosure, useHotkeys } from "@mantine/hooks"
import { openSpotlight } from "@mantine/spotlight"
import { useQuery } from "@tanstack/react-query"
import { Link, Outlet, useLocation } from "@tanstack/react-router"
import { Suspense, useEffect, useRef } from "react"
import {
  AgentsIcon,
  DocsIcon,
  MoonIcon,
  PlansIcon,
  SearchIcon,
  SettingsIcon,
  ShieldIcon,
  SignOutIcon,
  SunIcon,
  UsageIcon,
  UserIcon
} from "../icons.tsx"
import { useFollowedAgents } from "../agents/overviews.ts"
import { undoNewest } from "../parts.tsx"
import { accountQuery, agentsQuery, billingQuery } from "../queries.ts"
import { settings } from "../settings.ts"
import { texts } from "../texts.ts"
import { Palette } from "./Palette.tsx"
import { signOut, useThemeSwitch } from "./commands.ts"

const ThemeSwitch = () => {
  const { scheme, toggle } = useThemeSwitch()
  const label = scheme === "dark" ? texts.shell.toLight : texts.shell.toDark
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" c="dimmed" size="lg" onClick={toggle} aria-label={label}>
        {scheme === "dark" ? <SunIcon /> : <MoonIcon />}
      </ActionIcon>
    </Tooltip>
  )
}

const AccountMenu = () => {
  const { data: account } = useQuery(accountQuery)
  return (
    <Menu position="bottom-end" width={230}>
      <Menu.Target>
        <ActionIcon variant="default" radius="xl" size="lg" aria-label={texts.shell.account}>
          <UserIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {account !== undefined && (
          <Box px="sm" py={6}>
            <Text fz="sm" fw={600} className="truncate">
              {account.name}
            </Text>
            <Text fz="xs" c="dimmed" className="truncate">
              {account.email}
            </Text>
          </Box>
        )}
        <Menu.Divider />
        <Menu.Item component={Link} to="/dashboard/settings" leftSection={<SettingsIcon size={16} />}>
          {texts.shell.settings}
        </Menu.Item>
        <Menu.Item component="a" href="/docs" leftSection={<DocsIcon size={16} />}>
          {texts.shell.docs}
        </Menu.Item>
        <Menu.Item onClick={signOut} leftSection={<SignOutIcon size={16} />}>
          {texts.shell.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

const links = [
  { to: "/dashboard/agents", label: texts.shell.agents, icon: AgentsIcon },
  { to: "/dashboard/files", label: texts.files.title, icon: DocsIcon },
  { to: "/dashboard/usage", label: texts.shell.usage, icon: UsageIcon },
  { to: "/dashboard/plans", label: texts.pricing.title, icon: PlansIcon },
  { to: "/dashboard/settings", label: texts.shell.settings, icon: SettingsIcon },
  ...(settings.isAdministrator
    ? [{ to: "/dashboard/administration", label: texts.shell.administration, icon: ShieldIcon } as const]
    : [])
] as const

const Units = () => {
  const { data: billing } = useQuery(billingQuery)
  if (billing === undefined) return null
  const { dailyUnits, used } = billing.usage
  return (
    <Link to="/dashboard/usage" className="units">
      <Group justify="space-between" fz="xs">
        <span>{texts.shell.unitsToday}</span>
        <span>{texts.usage.ofUnits(used, dailyUnits)}</span>
      </Group>
      <progress max={Math.max(1, dailyUnits)} value={used} aria-label={texts.shell.unitsToday} />
    </Link>
  )
}

const Connection = () => {
  const { isRefetchError } = useQuery(agentsQuery)
  useFollowedAgents()
  return isRefetchError ? (
    <div className="connection" role="status">
      {texts.shell.offline}
    </div>
  ) : null
}

/** Text fields have a separate undo. */
const undoUnlessTyping = ({ target }: KeyboardEvent) => {
  if (!(target instanceof Element && target.matches(":read-write"))) void undoNewest()
}

/** The frame of every page. */
export const Shell = () => {
  const [isOpen, { close, toggle }] = useDisclosure()
  const { pathname } = useLocation()
  useHotkeys([["mod+Z", undoUnlessTyping, { preventDefault: false }]], [])
  const first = useRef(true)
  useEffect(() => {
    close()
    // Keyboard and screen reader users continue at the new page.
    if (!first.current) document.getElementById("main")?.focus({ preventScroll: true })
    first.current = false
    // `close` is a new function with each render.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [pathname])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 216, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      transitionDuration={150}
    >
      <AppShell.Header className="header">
        <a className="skip" href="#main">
          {texts.shell.skip}
        </a>
        <Group gap="sm" wrap="nowrap">
          <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={texts.shell.menu} />
          <Link to="/dashboard/agents" className="brand">
            Berth
          </Link>
        </Group>
        <Group gap={6} wrap="nowrap">
          <UnstyledButton className="search" onClick={openSpotlight} visibleFrom="sm">
            <SearchIcon size={15} />
            <span>{texts.shell.search}</span>
            <Kbd size="xs">{navigator.platform.startsWith("Mac") ? "⌘ K" : "Ctrl K"}</Kbd>
          </UnstyledButton>
          <ActionIcon
            variant="subtle"
            color="gray"
            c="dimmed"
            size="lg"
            hiddenFrom="sm"
            onClick={openSpotlight}
            aria-label={texts.shell.search}
          >
            <SearchIcon />
          </ActionIcon>
          <ThemeSwitch />
          <AccountMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className="navbar" aria-label={texts.shell.navigation}>
        <nav aria-label={texts.shell.main}>
          {links.map(({ icon: Icon, label, to }) => (
            <Link
              key={to}
              to={to}
              className="nav-link"
              {...(to === "/dashboard/agents" && pathname === "/dashboard" && { "data-status": "active" })}
            >
              <Icon />
              {label}
            </Link>
          ))}
        </nav>
        <Box mt="auto">{!settings.isBillingExempt && <Units />}</Box>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <Connection />
        <Suspense
          fallback={
            <Center h={240} role="status" aria-label={texts.loading}>
              <Loader size="sm" />
            </Center>
          }
        >
          <Outlet />
        </Suspense>
      </AppShell.Main>
      <Palette />
    </AppShell>
  )
}
