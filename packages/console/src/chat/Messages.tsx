import { ActionIcon, Button, Group, Text, Tooltip } from "@mantine/core"
import { memo, useMemo } from "react"
import { listBlocks, splitBlocks } from "../blocks.ts"
import { formatElapsed, formatTime } from "../format.ts"
import { EditIcon, RetryIcon, SkillIcon } from "../icons.tsx"
import { Copy, Trace } from "../parts.tsx"
import { texts } from "../texts.ts"
import type { SessionMessageJson, ToolActivityJson } from "../wire.ts"
import { AttachmentList } from "./AttachmentList.tsx"
import type { Outgoing } from "./attachments.ts"
import { type LiveHead, pairMessages } from "./exchanges.ts"
import { useLiveBlocks, useLiveHeads } from "./live.ts"
import { Markdown } from "./Markdown.tsx"

interface Shared {
  readonly agentId: string
  readonly sessionId: string
  readonly name: string
  readonly onRetry: (message: Outgoing) => void
  readonly onEdit: (message: Outgoing) => void
}

const ToolButton = ({
  icon,
  label,
  onClick
}: {
  readonly icon: React.ReactNode
  readonly label: string
  readonly onClick: () => void
}) => (
  <Tooltip label={label}>
    <ActionIcon variant="subtle" color="gray" c="dimmed" onClick={onClick} aria-label={label}>
      {icon}
    </ActionIcon>
  </Tooltip>
)

/** Formats JSON with one member per line; leaves other text unchanged. */
const layOut = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

const ToolCard = memo(({ call }: { readonly call: ToolActivityJson }) => (
  <details className="tool-card" data-status={call.status}>
    <summary>
      <SkillIcon size={15} />
      <span className="truncate">{call.name}</span>
      <span className="tool-status">{texts.chat.toolStatus[call.status]}</span>
    </summary>
    <div className="tool-part">{texts.chat.toolArguments}</div>
    <pre tabIndex={0}>{layOut(call.arguments)}</pre>
    {call.result !== null && (
      <>
        <div className="tool-part">{texts.chat.toolResult}</div>
        <pre tabIndex={0}>{call.result}</pre>
      </>
    )}
  </details>
))

/** The tool calls of an answer, in order. */
const ToolCards = ({ calls }: { readonly calls: ReadonlyArray<ToolActivityJson> }) =>
  calls.length > 0 && (
    <div className="tool-cards" role="group" aria-label={texts.chat.tools}>
      {calls.map((call) => (
        <ToolCard key={call.id} call={call} />
      ))}
    </div>
  )

const Unanswered = ({
  isStopped = false,
  message,
  onRetry,
  reason,
  traceId
}: {
  readonly isStopped?: boolean | undefined
  /** Undefined if another window shows it. */
  readonly message: Outgoing | undefined
  readonly reason: string
  readonly traceId?: string | undefined
  readonly onRetry: (message: Outgoing) => void
}) => (
  <div className="notice" data-tone={isStopped ? undefined : "bad"}>
    <Text fz="sm" fw={500}>
      {isStopped ? texts.chat.stopped : texts.chat.unanswered(reason)}
    </Text>
    {traceId !== undefined && <Trace id={traceId} />}
    {message !== undefined && (
      <Button
        mt="xs"
        size="xs"
        variant="default"
        leftSection={<RetryIcon size={14} />}
        onClick={() => onRetry(message)}
      >
        {texts.chat.retry}
      </Button>
    )}
  </div>
)

const UserMessage = ({
  agentId,
  message: { attachments, text },
  onEdit,
  timestamp
}: Pick<Shared, "agentId" | "onEdit"> & {
  readonly message: Outgoing
  /** Undefined until the message is stored. */
  readonly timestamp: number | undefined
}) => (
  <article className="turn turn-user" aria-label={texts.chat.you}>
    <h2 className="visually-hidden">{texts.chat.you}</h2>
    <AttachmentList agentId={agentId} attachments={attachments} />
    {text !== "" && <div className="text">{text}</div>}
    <div className="turn-tools">
      {timestamp !== undefined && (
        <>
          <span>{formatTime(timestamp)}</span>
          {text !== "" && <Copy value={text} label={texts.chat.copyMessage} />}
          <ToolButton
            icon={<EditIcon size={15} />}
            label={texts.chat.edit}
            onClick={() => onEdit({ attachments, text })}
          />
        </>
      )}
    </div>
  </article>
)

const listFacts = ({ durationMs, model, provider, status, stopped, timestamp, units }: SessionMessageJson) =>
  [
    model === null ? undefined : provider === null ? model : `${model} · ${provider}`,
    durationMs === null ? undefined : formatElapsed(durationMs),
    units === null ? undefined : texts.chat.units(units),
    stopped ? texts.chat.stopped : status === "failed" ? texts.chat.interrupted : undefined,
    formatTime(timestamp)
  ].filter((fact) => fact !== undefined)

/** The state of an answer in progress. */
const Progress = ({
  isEmpty,
  live: { isBroken, isStopping },
  name
}: {
  readonly isEmpty: boolean
  readonly live: LiveHead
  readonly name: string
}) => (
  <Group gap="xs" mt={isEmpty ? 0 : 8} c="dimmed" fz="sm">
    <span className="caret" />
    {isStopping ? texts.chat.stopping : isBroken ? texts.chat.broken : isEmpty && texts.chat.thinking(name)}
  </Group>
)

/** A reply, first in progress, then stored: unchanged blocks keep their rendering. */
const Reply = ({
  outgoing,
  isLast,
  live,
  name,
  onRetry,
  sessionId,
  stored
}: Pick<Shared, "name" | "onRetry" | "sessionId"> & {
  readonly outgoing: Outgoing | undefined
  readonly isLast: boolean
  readonly live: LiveHead | undefined
  readonly stored: SessionMessageJson | undefined
}) => {
  const content = stored?.content
  const whole = useMemo(() => (content === undefined ? undefined : splitBlocks(content)), [content])
  const growing = useLiveBlocks(sessionId, live?.key)
  const blocks = whole ?? listBlocks(growing)
  const isGrowing = stored === undefined && live?.failure === undefined
  return (
    <article className="turn turn-agent" aria-label={name} aria-busy={isGrowing || undefined}>
      <h2 className="visually-hidden">{name}</h2>
      <ToolCards calls={stored?.toolCalls ?? live?.tools ?? []} />
      <Markdown blocks={blocks} isGrowing={isGrowing} />
      {stored !== undefined ? (
        <div className="turn-tools">
          <Copy value={stored.content} label={texts.chat.copyReply} />
          {isLast && outgoing !== undefined && (
            <ToolButton icon={<RetryIcon size={15} />} label={texts.chat.again} onClick={() => onRetry(outgoing)} />
          )}
          <span className="answer-facts">{listFacts(stored).join(" · ")}</span>
        </div>
      ) : live?.failure === undefined ? (
        live !== undefined && <Progress isEmpty={blocks.length === 0} live={live} name={name} />
      ) : (
        <Unanswered
          message={outgoing}
          reason={live.failure.message}
          isStopped={live.isStopping}
          traceId={live.failure.traceId}
          onRetry={onRetry}
        />
      )}
    </article>
  )
}

/** A message with its reply. Deltas render only the text of the reply. */
const Exchange = memo(
  ({
    isLast,
    isRetried,
    live,
    question,
    reply,
    ...shared
  }: Shared & {
    readonly question: SessionMessageJson | undefined
    readonly reply: SessionMessageJson | undefined
    readonly live: LiveHead | undefined
    readonly isLast: boolean
    /** Whether the same message follows. */
    readonly isRetried: boolean
  }) => {
    const { agentId, onEdit, onRetry } = shared
    const outgoing: Outgoing | undefined =
      question !== undefined
        ? { text: question.content, attachments: question.attachments }
        : live?.question === undefined
          ? undefined
          : { text: live.question, attachments: live.attachments }
    return (
      <>
        {outgoing !== undefined && (
          <UserMessage agentId={agentId} message={outgoing} timestamp={question?.timestamp} onEdit={onEdit} />
        )}
        {live === undefined && question?.status === "failed" && (
          <Unanswered
            message={outgoing}
            reason={question.failure ?? texts.chat.noReason}
            isStopped={question.stopped}
            onRetry={isRetried ? onEdit : onRetry}
          />
        )}
        {(reply !== undefined || live !== undefined) && (
          <Reply {...shared} outgoing={outgoing} isLast={isLast} live={live} stored={reply} />
        )}
      </>
    )
  }
)

/** The messages of a conversation and its answers in progress. */
export const Exchanges = memo(
  ({ messages, ...shared }: Shared & { readonly messages: ReadonlyArray<SessionMessageJson> }) => {
    const exchanges = pairMessages(messages, useLiveHeads(shared.sessionId))
    return (
      <>
        {exchanges.map(({ key, live, question, reply }, index) => (
          <Exchange
            key={key}
            {...shared}
            question={question}
            reply={reply}
            live={live}
            isLast={index === exchanges.length - 1}
            isRetried={
              question !== undefined &&
              exchanges.slice(index + 1, index + 20).some((next) => next.question?.content === question.content)
            }
          />
        ))}
      </>
    )
  }
)
