import { ActionIcon, Button, Group, Text, Tooltip } from "@mantine/core"
import { memo } from "react"
import { formatElapsed, formatTime } from "../format.ts"
import { EditIcon, RetryIcon, SkillIcon } from "../icons.tsx"
import { Copy, Trace } from "../parts.tsx"
import { texts } from "../texts.ts"
import type { AttachmentJson, SessionMessageJson, ToolActivityJson } from "../wire.ts"
import { AttachmentList } from "./AttachmentList.tsx"
import type { Outgoing } from "./attachments.ts"
import { CanHighlight } from "./HighlightedCode.tsx"
import { type LiveAnswer, useLiveAnswers } from "./live.ts"
import { Block, Markdown, usualCharacters } from "./Markdown.tsx"

interface Actions {
  readonly agentId: string
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

/** JSON text with one member a line; other text as it is. */
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

/** The tool calls of an answer, in their order. */
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
  readonly message: Outgoing
  readonly reason: string
  readonly traceId?: string | undefined
  readonly onRetry?: ((message: Outgoing) => void) | undefined
}) => (
  <div className="notice failed" data-tone={isStopped ? undefined : "bad"}>
    <Text fz="sm" fw={500}>
      {isStopped ? texts.chat.stopped : texts.chat.unanswered(reason)}
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
    agentId,
    attachments,
    content,
    failure,
    isStopped,
    onEdit,
    onRetry,
    timestamp
  }: Actions & {
    readonly attachments: ReadonlyArray<AttachmentJson>
    readonly content: string
    readonly timestamp: number
    readonly failure: string | undefined
    readonly isStopped: boolean
  }) => {
    const message = { text: content, attachments }
    return (
      <>
        <article className="turn turn-user" aria-label={texts.chat.you}>
          <AttachmentList agentId={agentId} attachments={attachments} />
          {content !== "" && <div className="text">{content}</div>}
          <div className="turn-tools">
            <span>{formatTime(timestamp)}</span>
            {content !== "" && <Copy value={content} label={texts.chat.copyMessage} />}
            <ToolButton icon={<EditIcon size={15} />} label={texts.chat.edit} onClick={() => onEdit(message)} />
          </div>
        </article>
        {failure !== undefined && (
          <Unanswered message={message} reason={failure} isStopped={isStopped} onRetry={onRetry} />
        )}
      </>
    )
  }
)

const AgentReply = memo(
  ({
    message: { content, durationMs, model, provider, status, stopped, timestamp, toolCalls, units },
    name,
    onAgain
  }: {
    readonly message: SessionMessageJson
    readonly name: string
    readonly onAgain: (() => void) | undefined
  }) => (
    <article className="turn turn-agent" aria-label={name}>
      <ToolCards calls={toolCalls} />
      <Markdown text={content} />
      <div className="turn-tools">
        <Copy value={content} label={texts.chat.copyReply} />
        {onAgain !== undefined && (
          <ToolButton icon={<RetryIcon size={15} />} label={texts.chat.again} onClick={onAgain} />
        )}
        <span className="answer-facts">
          {[
            model === null ? undefined : provider === null ? model : `${model} · ${provider}`,
            durationMs === null ? undefined : formatElapsed(durationMs),
            units === null ? undefined : texts.chat.units(units),
            stopped ? texts.chat.stopped : status === "failed" ? texts.chat.interrupted : undefined,
            formatTime(timestamp)
          ]
            .filter((fact) => fact !== undefined)
            .join(" · ")}
        </span>
      </div>
    </article>
  ),
  // A new function with each render does not change the reply.
  (one, other) => one.message === other.message && (one.onAgain === undefined) === (other.onAgain === undefined)
)

/** Stored messages. Deltas do not render them again. */
export const Stored = memo(
  ({
    agentId,
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
                agentId={agentId}
                attachments={message.attachments}
                content={message.content}
                timestamp={message.timestamp}
                isStopped={message.stopped}
                failure={message.status === "failed" ? (message.failure ?? texts.chat.noReason) : undefined}
                onEdit={onEdit}
                onRetry={isRetried ? onEdit : onRetry}
              />
            )
          }
          const asked = question
          question = undefined
          return (
            <AgentReply
              key={message.id}
              message={message}
              name={name}
              onAgain={
                asked !== undefined && index === messages.length - 1
                  ? () => onRetry({ text: asked.content, attachments: asked.attachments })
                  : undefined
              }
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
const Live = ({
  agentId,
  answer,
  name,
  onRetry
}: {
  readonly agentId: string
  readonly answer: LiveAnswer
  readonly name: string
  readonly onRetry: (message: Outgoing) => void
}) => {
  const { attachments, blocks, failure, isBroken, isStopping, question, tools } = answer
  const isEmpty = blocks.done.length === 0 && blocks.tail === ""
  return (
    <>
      {question !== undefined && (
        <article className="turn turn-user" aria-label={texts.chat.you}>
          <AttachmentList agentId={agentId} attachments={attachments} />
          {question !== "" && <div className="text">{question}</div>}
          <div className="turn-tools" />
        </article>
      )}
      <article className="turn turn-agent" aria-label={name} aria-busy={failure === undefined}>
        <ToolCards calls={tools} />
        <CanHighlight value={false}>
          <Growing answer={answer} />
        </CanHighlight>
        {failure === undefined ? (
          <Group gap="xs" mt={isEmpty ? 0 : 8} c="dimmed" fz="sm" role="status">
            <span className="caret" />
            {isStopping ? (
              texts.chat.stopping
            ) : isBroken ? (
              texts.chat.broken
            ) : isEmpty ? (
              texts.chat.thinking(name)
            ) : (
              <span className="visually-hidden">{texts.chat.answering(name)}</span>
            )}
          </Group>
        ) : (
          <Unanswered
            message={{ text: question ?? "", attachments }}
            reason={failure.message}
            isStopped={isStopping}
            traceId={failure.traceId}
            onRetry={question === undefined ? undefined : onRetry}
          />
        )}
      </article>
    </>
  )
}

/** The answers in progress of a conversation. Their deltas render nothing else. */
export const LiveAnswers = memo(
  ({
    sessionId,
    ...props
  }: Pick<Actions, "agentId" | "onRetry"> & { readonly sessionId: string; readonly name: string }) => (
    <>
      {useLiveAnswers(sessionId).map((answer) => (
        <Live key={answer.key} answer={answer} {...props} />
      ))}
    </>
  )
)
