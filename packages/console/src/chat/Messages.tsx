import { ActionIcon, Button, Group, Text, Tooltip } from "@mantine/core"
import { memo } from "react"
import { formatElapsed, formatTime } from "../format.ts"
import { EditIcon, RetryIcon } from "../icons.tsx"
import { Copy, Trace } from "../parts.tsx"
import { texts } from "../texts.ts"
import type { SessionMessageJson } from "../wire.ts"
import type { LiveAnswer } from "./live.ts"
import { Block, Markdown, usualCharacters } from "./Markdown.tsx"

interface Actions {
  readonly onRetry: (message: string) => void
  readonly onEdit: (message: string) => void
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

const Unanswered = ({
  message,
  onRetry,
  reason,
  traceId
}: {
  readonly message: string
  readonly reason: string
  readonly traceId?: string | undefined
  readonly onRetry?: ((message: string) => void) | undefined
}) => (
  <div className="notice failed" data-tone="bad">
    <Text fz="sm" fw={500}>
      {texts.chat.unanswered(reason)}
    </Text>
    {traceId !== undefined && <Trace id={traceId} />}
    {onRetry !== undefined && (
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

const UserMessage = memo(
  ({
    content,
    failure,
    onEdit,
    onRetry,
    timestamp
  }: Actions & { readonly content: string; readonly timestamp: number; readonly failure: string | undefined }) => (
    <>
      <article className="turn turn-user" aria-label={texts.chat.you}>
        <div className="text">{content}</div>
        <div className="turn-tools">
          <span>{formatTime(timestamp)}</span>
          <Copy value={content} label={texts.chat.copyMessage} />
          <ToolButton icon={<EditIcon size={15} />} label={texts.chat.edit} onClick={() => onEdit(content)} />
        </div>
      </article>
      {failure !== undefined && <Unanswered message={content} reason={failure} onRetry={onRetry} />}
    </>
  )
)

const AgentReply = memo(
  ({
    elapsed,
    message: { content, model, provider, timestamp },
    name,
    onAgain
  }: {
    readonly message: SessionMessageJson
    readonly name: string
    readonly elapsed: number | undefined
    readonly onAgain: (() => void) | undefined
  }) => (
    <article className="turn turn-agent" aria-label={name}>
      <Markdown text={content} />
      <div className="turn-tools">
        <Copy value={content} label={texts.chat.copyReply} />
        {onAgain !== undefined && (
          <ToolButton icon={<RetryIcon size={15} />} label={texts.chat.again} onClick={onAgain} />
        )}
        <span className="answer-facts">
          {[
            model === null ? undefined : provider === null ? model : `${model} · ${provider}`,
            elapsed === undefined ? undefined : formatElapsed(elapsed),
            formatTime(timestamp)
          ]
            .filter((fact) => fact !== undefined)
            .join(" · ")}
        </span>
      </div>
    </article>
  ),
  // A new function with each render does not change the reply.
  (one, other) =>
    one.message === other.message &&
    one.elapsed === other.elapsed &&
    (one.onAgain === undefined) === (other.onAgain === undefined)
)

/** Stored messages. Deltas do not render them again. */
export const Stored = memo(
  ({
    messages,
    name,
    onEdit,
    onRetry
  }: Actions & { readonly messages: ReadonlyArray<SessionMessageJson>; readonly name: string }) => {
    let question: SessionMessageJson | undefined
    return (
      <>
        {messages.map((message, index) => {
          if (message.role === "user") {
            question = message
            const isRetried = messages
              .slice(index + 1, index + 40)
              .some(({ content, role }) => role === "user" && content === message.content)
            return (
              <UserMessage
                key={message.id}
                content={message.content}
                timestamp={message.timestamp}
                failure={message.status === "failed" ? (message.failure ?? texts.chat.noReason) : undefined}
                onEdit={onEdit}
                onRetry={isRetried ? onEdit : onRetry}
              />
            )
          }
          const asked = question
          const elapsed = asked === undefined ? undefined : message.timestamp - asked.timestamp
          question = undefined
          return (
            <AgentReply
              key={message.id}
              message={message}
              name={name}
              elapsed={elapsed !== undefined && elapsed >= 0 && elapsed < 3_600_000 ? elapsed : undefined}
              onAgain={asked !== undefined && index === messages.length - 1 ? () => onRetry(asked.content) : undefined}
            />
          )
        })}
      </>
    )
  }
)

/** The end of a growing answer: a long one keeps the page quick. */
const Growing = ({ answer: { blocks } }: { readonly answer: LiveAnswer }) => {
  let first = blocks.done.length
  for (let length = blocks.tail.length; first > 0 && length < usualCharacters; first -= 1)
    length += blocks.done[first - 1]?.length ?? 0
  return (
    <>
      {first > 0 && (
        <Text c="dimmed" fz="sm" mb="sm">
          {texts.chat.longAnswer}
        </Text>
      )}
      {blocks.done.slice(first).map((block, index) => (
        <Block key={first + index}>{block}</Block>
      ))}
      {blocks.tail !== "" && <Block key={blocks.done.length}>{blocks.tail}</Block>}
    </>
  )
}

/** An answer in progress, with its message. */
export const Live = ({
  answer,
  name,
  onRetry
}: {
  readonly answer: LiveAnswer
  readonly name: string
  readonly onRetry: (message: string) => void
}) => {
  const { blocks, failure, isBroken, question } = answer
  const isEmpty = blocks.done.length === 0 && blocks.tail === ""
  return (
    <>
      {question !== undefined && (
        <article className="turn turn-user" aria-label={texts.chat.you}>
          <div className="text">{question}</div>
          <div className="turn-tools" />
        </article>
      )}
      <article className="turn turn-agent" aria-label={name} aria-busy={failure === undefined}>
        <Growing answer={answer} />
        {failure === undefined ? (
          <Group gap="xs" mt={isEmpty ? 0 : 8} c="dimmed" fz="sm" role="status">
            <span className="caret" />
            {isBroken ? (
              texts.chat.broken
            ) : isEmpty ? (
              texts.chat.thinking(name)
            ) : (
              <span className="visually-hidden">{texts.chat.answering(name)}</span>
            )}
          </Group>
        ) : (
          <Unanswered
            message={question ?? ""}
            reason={failure.message}
            traceId={failure.traceId}
            onRetry={question === undefined ? undefined : onRetry}
          />
        )}
      </article>
    </>
  )
}
