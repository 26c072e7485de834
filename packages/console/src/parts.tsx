import {
  ActionIcon,
  Anchor,
  Box,
  Button,
  Code,
  CopyButton,
  Group,
  Pagination,
  Skeleton,
  Stack,
  Table,
  Text,
  Textarea,
  ThemeIcon,
  Title,
  Tooltip
} from "@mantine/core"
import { type NotificationData, notifications } from "@mantine/notifications"
import { useMutation } from "@tanstack/react-query"
import { type ComponentProps, Fragment, type ReactNode, useEffect, useRef, useSyncExternalStore } from "react"
import { RequestFailed } from "./api.ts"
import { formatDateTime, formatDay, formatRelative, type Instant } from "./format.ts"
import { CheckIcon, CopyIcon, InfoIcon } from "./icons.tsx"
import { texts } from "./texts.ts"

export const PageHeader = ({
  actions,
  lead,
  title
}: {
  readonly title: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
}) => (
  <Group justify="space-between" align="flex-start" mb="lg" gap="md">
    <Box flex="1 1 240px" miw={0}>
      <Title order={1} fz={26} lh={1.25}>
        {title}
      </Title>
      {lead !== undefined && (
        <Text c="dimmed" mt={4}>
          {lead}
        </Text>
      )}
    </Box>
    {actions !== undefined && <Group gap="xs">{actions}</Group>}
  </Group>
)

/** A surface with an optional heading. */
export const Section = ({
  actions,
  children,
  id,
  lead,
  title,
  tone
}: {
  readonly id?: string
  readonly title?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly tone?: "danger"
  readonly children: ReactNode
}) => (
  <section className="section" id={id} data-tone={tone}>
    {title !== undefined && (
      <Group className="section-head" justify="space-between" align="flex-start" gap="sm">
        <Box flex="1 1 200px" miw={0}>
          <Title order={2} fz={17}>
            {title}
          </Title>
          {lead !== undefined && (
            <Text c="dimmed" fz="sm" mt={2}>
              {lead}
            </Text>
          )}
        </Box>
        {actions}
      </Group>
    )}
    {children}
  </section>
)

/** A URL or email address, which breaks after its punctuation. */
export const Address = ({ children }: { readonly children: string }) =>
  children.split(/(?<=[^\p{L}\p{N}])(?=[\p{L}\p{N}])/u).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))

/** A term and its value; nothing without a value. */
export const Fact = ({ children, label }: { readonly label: string; readonly children: ReactNode }) =>
  children === null || children === undefined || children === false ? null : (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  )

const statusTones: Readonly<Record<string, string>> = {
  running: "good",
  active: "good",
  connected: "good",
  succeeded: "good",
  answered: "good",
  delivered: "good",
  enabled: "good",
  reachable: "good",
  verified: "good",
  provisioning: "busy",
  pending: "busy",
  waiting: "busy",
  restarting: "busy",
  retrying: "busy",
  error: "bad",
  failed: "bad",
  refused: "bad",
  failing: "bad",
  unreachable: "bad",
  disabled: "bad",
  dead: "bad",
  missed: "bad",
  suspended: "bad"
}

/** A status with a dot and a word, never color alone. */
export const StatusTag = ({ value }: { readonly value: string }) => (
  <span className="status" data-tone={statusTones[value] ?? "idle"}>
    {texts.statuses[value] ?? value}
  </span>
)

export const Empty = ({
  action,
  children,
  icon,
  isPage = false,
  title
}: {
  readonly title: string
  /** Whether the page has no other heading. */
  readonly isPage?: boolean
  readonly icon?: ReactNode
  readonly children?: ReactNode
  readonly action?: ReactNode
}) => (
  <Stack align="center" gap="xs" className="empty" ta="center">
    {icon !== undefined && (
      <ThemeIcon size={48} radius="xl" variant="default" c="dimmed">
        {icon}
      </ThemeIcon>
    )}
    {isPage ? (
      <Title order={1} fz="lg">
        {title}
      </Title>
    ) : (
      <Text fw={600}>{title}</Text>
    )}
    {children !== undefined && (
      <Text c="dimmed" fz="sm" maw={440}>
        {children}
      </Text>
    )}
    {action !== undefined && <Box mt="xs">{action}</Box>}
  </Stack>
)

export const describe = (cause: unknown): string => (cause instanceof RequestFailed ? cause.message : texts.unexpected)

const traceOf = (cause: unknown) => (cause instanceof RequestFailed ? cause.traceId : undefined)

export const Copy = ({ label, value }: { readonly value: string; readonly label: string }) => (
  <CopyButton value={value}>
    {({ copied, copy }) => (
      <Tooltip label={copied ? texts.copied : label}>
        <ActionIcon variant="subtle" color="gray" c="dimmed" onClick={copy} aria-label={label}>
          {copied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
        </ActionIcon>
      </Tooltip>
    )}
  </CopyButton>
)

export const Trace = ({ id }: { readonly id: string }) => (
  <Group gap={4} fz="xs" wrap="nowrap">
    <Text span inherit c="dimmed" flex="none">
      {texts.trace}
    </Text>
    <Code fz="xs" c="var(--mantine-color-text)" className="whole">
      {id}
    </Code>
    <Copy value={id} label={texts.copyTrace} />
  </Group>
)

/** A failure with its trace id and a retry button. */
export const Failure = ({
  cause,
  message = describe(cause),
  onRetry
}: {
  readonly cause: unknown
  readonly message?: string
  readonly onRetry?: (() => void) | undefined
}) => {
  const trace = traceOf(cause)
  return (
    <div className="notice" data-tone="bad" role="alert">
      <Text fw={500}>{message}</Text>
      {trace !== undefined && <Trace id={trace} />}
      {onRetry !== undefined && (
        <Button variant="default" size="xs" mt="xs" onClick={onRetry}>
          {texts.tryAgain}
        </Button>
      )}
    </div>
  )
}

export const Notice = ({
  children,
  tone = "idle"
}: {
  readonly children: ReactNode
  readonly tone?: "idle" | "busy"
}) => (
  <div className="notice" data-tone={tone}>
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <Box pt={2} lh={0}>
        <InfoIcon size={17} />
      </Box>
      <Box fz="sm">{children}</Box>
    </Group>
  </div>
)

export const Loading = ({ rows = 3 }: { readonly rows?: number | undefined }) => (
  <Stack gap="sm" aria-busy="true" aria-label={texts.loading} role="status">
    {Array.from({ length: rows }, (_, row) => (
      <Skeleton key={row} height={44} />
    ))}
  </Stack>
)

/** Shows the data of a query, its failure, or a placeholder. */
export const Loaded = <A,>({
  children,
  query,
  rows
}: {
  readonly query: {
    readonly data: A | undefined
    readonly error: unknown
    readonly refetch: () => Promise<unknown>
  }
  readonly rows?: number
  readonly children: (data: A) => ReactNode
}) => {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error !== null && query.error !== undefined)
    return <Failure cause={query.error} onRetry={() => void query.refetch()} />
  return <Loading rows={rows} />
}

/** The rows of a query in a list, or `empty`. */
export const Rows = <A, Row>({
  children,
  className = "",
  empty,
  label,
  query,
  read
}: Pick<ComponentProps<typeof Loaded<A>>, "query"> & {
  readonly read: (data: A) => ReadonlyArray<Row>
  readonly empty: ReactNode
  readonly label?: string
  readonly className?: string
  readonly children: (row: Row, index: number) => ReactNode
}) => (
  <Loaded query={query}>
    {(data) => {
      const rows = read(data)
      return rows.length === 0 ? (
        empty
      ) : (
        <ul className={`rows ${className}`} aria-label={label}>
          {rows.map(children)}
        </ul>
      )
    }}
  </Loaded>
)

/** Calls back as time passes, and at once when the page is shown again. */
const subscribeToClock = (onChange: () => void) => {
  const timer = setInterval(onChange, 15_000)
  document.addEventListener("visibilitychange", onChange)
  return () => {
    clearInterval(timer)
    document.removeEventListener("visibilitychange", onChange)
  }
}

/** A time relative to now. */
export const Moment = ({ at }: { readonly at: Instant }) => (
  <Tooltip label={formatDateTime(at)}>
    <time dateTime={new Date(at).toISOString()}>
      {useSyncExternalStore(subscribeToClock, () => formatRelative(at, Date.now()))}
    </time>
  </Tooltip>
)

export const DateTime = ({ at }: { readonly at: Instant }) => (
  <time dateTime={new Date(at).toISOString()}>{formatDateTime(at)}</time>
)

/** A date in one line. */
export const Day = ({ at }: { readonly at: Instant }) => (
  <time dateTime={new Date(at).toISOString()}>{formatDay(at)}</time>
)

const notification = { withBorder: true, closeButtonProps: { "aria-label": texts.close } }

export const notifyDone = (message: string) =>
  notifications.show({ ...notification, message, color: "harbor", icon: <CheckIcon size={16} /> })

export const notifyFailure = (cause: unknown) => {
  const trace = traceOf(cause)
  notifications.show({
    ...notification,
    title: describe(cause),
    message: trace === undefined ? "" : <Trace id={trace} />,
    color: "red",
    autoClose: 10_000
  })
}

/** Longer than other notifications: the action is complete, and the user may still look elsewhere. */
const undoMs = 10_000

/** The undo functions of shown notifications, newest last. */
const offers = new Map<string, () => Promise<void>>()

/**
 * Announces an action with a button that undoes it, as Ctrl+Z does; stays open while focused. Returns a function that
 * removes it.
 */
export const offerUndo = (message: string, undo: () => unknown): (() => void) => {
  const id = crypto.randomUUID()
  const hide = () => void notifications.hide(id)
  const take = async () => {
    // A closing notification still receives clicks.
    if (!offers.has(id)) return
    hide()
    try {
      await undo()
    } catch (cause) {
      notifyFailure(cause)
    }
  }
  const offer: NotificationData = {
    ...notification,
    id,
    color: "harbor",
    autoClose: undoMs,
    onClose: () => void offers.delete(id),
    onFocusCapture: () => void notifications.update({ ...offer, autoClose: false }),
    onBlurCapture: () => void notifications.update(offer),
    message: (
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <Text inherit>{message}</Text>
        <Button variant="default" size="xs" flex="none" onClick={() => void take()}>
          {texts.undo}
        </Button>
      </Group>
    )
  }
  offers.set(id, take)
  notifications.show(offer)
  return hide
}

/** As `offerUndo`, for state of the component: the notifications are removed with it. */
export const useUndo = () => {
  const shown = useRef<Array<() => void>>([])
  useEffect(() => () => shown.current.forEach((hide) => hide()), [])
  return (message: string, undo: () => unknown) => void shown.current.push(offerUndo(message, undo))
}

export const undoNewest = () => [...offers.values()].at(-1)?.()

/** A mutation that reports its outcome. */
export const useAction = <Input = void,>(
  work: (input: Input) => Promise<unknown>,
  { done, onDone }: { readonly done?: string; readonly onDone?: (input: Input) => unknown } = {}
) =>
  useMutation({
    mutationFn: work,
    onSuccess: async (_result, input) => {
      if (done !== undefined) notifyDone(done)
      await onDone?.(input)
    },
    onError: notifyFailure
  })

/** A secret that the service shows only once. */
export const SecretOnce = ({
  label,
  onDone,
  value
}: {
  readonly label: string
  readonly value: string
  readonly onDone: () => void
}) => (
  <Stack gap="sm">
    <Notice tone="busy">{texts.shownOnce}</Notice>
    <Textarea
      label={label}
      value={value}
      readOnly
      autosize
      classNames={{ input: "mono whole" }}
      onFocus={(event) => event.target.select()}
    />
    <Group justify="flex-end" gap="xs">
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Button variant="default" onClick={copy}>
            {copied ? texts.copied : texts.copy}
          </Button>
        )}
      </CopyButton>
      <Button onClick={onDone}>{texts.stored}</Button>
    </Group>
  </Stack>
)

export const ExternalLink = ({ children, href }: { readonly href: string; readonly children: ReactNode }) => (
  <Anchor href={href} underline="always" target="_blank" rel="noopener noreferrer nofollow">
    {children}
  </Anchor>
)

/** An item of a list of class `figures`. */
export const Figure = ({
  hint,
  label,
  value
}: {
  readonly label: string
  readonly value: string
  readonly hint?: string
}) => (
  <div className="figure">
    <dt>{label}</dt>
    <dd>
      {value}
      {hint !== undefined && (
        <Text fz="xs" c="dimmed" fw={400}>
          {hint}
        </Text>
      )}
    </dd>
  </div>
)

interface Column<Row> {
  readonly title: string
  readonly render: (row: Row) => ReactNode
  readonly isRight?: boolean
}

/** A table; in a narrow space, cards with the titles of the columns. */
export const DataTable = <Row,>({
  columns,
  keyOf,
  label,
  rows
}: {
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
}) => (
  <div className="data-table">
    <Table verticalSpacing="xs" aria-label={label}>
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ isRight, title }) => (
            <Table.Th key={title} data-right={isRight}>
              {title}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={keyOf(row)}>
            {columns.map(({ isRight, render, title }) => (
              <Table.Td key={title} data-right={isRight} data-title={title}>
                {render(row)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </div>
)

/** Pagination of a list with more than one page. */
export const Pages = ({
  onChange,
  page,
  perPage,
  total
}: {
  readonly total: number
  readonly perPage: number
  readonly page: number
  readonly onChange: (page: number) => void
}) =>
  total > perPage && (
    <Pagination
      mt="md"
      size="sm"
      gap={4}
      total={Math.ceil(total / perPage)}
      value={page}
      onChange={onChange}
      getControlProps={(control) => ({ "aria-label": texts.pages[control] })}
    />
  )
