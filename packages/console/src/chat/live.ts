import { useSyncExternalStore } from "react"
import { appendText, type Blocks, noBlocks } from "../blocks.ts"
import { call, segment } from "../api.ts"
import { describe } from "../parts.tsx"
import { readConversation } from "../queries.ts"
import type { ToolActivityJson } from "../wire.ts"
import type { Outgoing } from "./attachments.ts"
import { type LiveHead, nameMessage } from "./exchanges.ts"
import { StreamLost, type StreamSource, receiveAnswer, openAnswer } from "./answers.ts"

interface LiveAnswer extends LiveHead {
  readonly blocks: Blocks
}

const none: ReadonlyArray<LiveAnswer> = []
const answers = new Map<string, ReadonlyArray<LiveAnswer>>()
/** Answers by conversation, replaced by every change except of their text. */
const heads = new Map<string, ReadonlyArray<LiveHead>>()
const listeners = new Set<() => void>()

const publish = (sessionId: string, next: ReadonlyArray<LiveAnswer>, onlyGrew = false) => {
  if (next.length === 0) {
    answers.delete(sessionId)
    heads.delete(sessionId)
  } else {
    answers.set(sessionId, next)
    if (!onlyGrew) heads.set(sessionId, next)
  }
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const readLiveAnswers = (sessionId: string): ReadonlyArray<LiveAnswer> => answers.get(sessionId) ?? none

/** Returns the text of an answer in progress. Renders with each delta. */
export const useLiveBlocks = (sessionId: string, key: string | undefined): Blocks =>
  useSyncExternalStore(
    subscribe,
    () => readLiveAnswers(sessionId).find((answer) => answer.key === key)?.blocks ?? noBlocks
  )

/**
 * Returns the answers in progress of a conversation, without a render for each delta. They continue while other pages
 * are open.
 */
export const useLiveHeads = (sessionId: string): ReadonlyArray<LiveHead> =>
  useSyncExternalStore(subscribe, () => heads.get(sessionId) ?? none)

const replace = (sessionId: string, key: string, changes: Partial<LiveAnswer>) =>
  readLiveAnswers(sessionId).map((answer) => (answer.key === key ? { ...answer, ...changes } : answer))

const change = (sessionId: string, key: string, changes: Partial<LiveHead>) =>
  publish(sessionId, replace(sessionId, key, changes))

const grow = (sessionId: string, key: string, blocks: Blocks) =>
  publish(sessionId, replace(sessionId, key, { blocks }), true)

const remove = (sessionId: string, key: string) =>
  publish(
    sessionId,
    readLiveAnswers(sessionId).filter((answer) => answer.key !== key)
  )

/** Maximum text per frame, so that a fast answer never blocks the page. */
const frameCharacters = 2_000

/** Resolves with the next frame, or after 200 ms, since a hidden page has no frames. */
const nextFrame = () =>
  new Promise<unknown>((resolve) => {
    requestAnimationFrame(resolve)
    setTimeout(resolve, 200)
  })

let lastKey = 0

/** Follows an answer; `settle` reloads the conversation before the live copy is removed. */
const follow = async (
  sessionId: string,
  source: StreamSource,
  outgoing: Outgoing | undefined,
  settle: () => Promise<unknown>
) => {
  lastKey += 1
  const key = `live-${lastKey}`
  const messageId = "messageId" in source ? source.messageId : undefined
  publish(sessionId, [
    ...readLiveAnswers(sessionId),
    {
      key,
      question: outgoing?.text,
      attachments: outgoing?.attachments ?? [],
      messageId,
      blocks: noBlocks,
      tools: [],
      isBroken: false,
      isStopping: false,
      failure: undefined
    }
  ])
  let blocks = noBlocks
  const tools = new Map<string, ToolActivityJson>()
  let waiting = ""
  let showing: Promise<void> | undefined
  const show = async () => {
    do {
      await nextFrame()
      const length = document.hidden ? waiting.length : frameCharacters
      blocks = appendText(blocks, waiting.slice(0, length))
      waiting = waiting.slice(length)
      grow(sessionId, key, blocks)
    } while (waiting !== "")
    showing = undefined
  }
  try {
    await receiveAnswer(source, {
      onText: (text) => {
        waiting += text
        showing ??= show()
      },
      onTool: (activity) => {
        tools.set(activity.id, activity)
        change(sessionId, key, { tools: [...tools.values()] })
      },
      onMessageId: (named) => publish(sessionId, nameMessage(readLiveAnswers(sessionId), key, named)),
      onFailed: (message, traceId) => change(sessionId, key, { failure: { message, traceId } }),
      onConnection: (isBroken) => change(sessionId, key, { isBroken })
    })
  } catch (cause) {
    if (!(cause instanceof StreamLost))
      change(sessionId, key, { failure: { message: describe(cause), traceId: undefined } })
  }
  await showing
  await settle().catch(() => undefined)
  remove(sessionId, key)
}

/** Sends a message; resolves when the service has accepted it. */
export const ask = async (
  { agentId, message, sessionId }: { readonly agentId: string; readonly sessionId: string; readonly message: Outgoing },
  settle: () => Promise<unknown>
): Promise<void> => {
  const response = await openAnswer(message, agentId, sessionId)
  void follow(sessionId, { response }, message, settle)
}

/** Follows the answer to a stored message without a reply. Idempotent. */
export const followPending = (
  sessionId: string,
  { content, id }: { readonly id: string; readonly content: string },
  settle: () => Promise<unknown>
): void => {
  // The first event of a new answer names its message.
  const isFollowed = ({ messageId, question }: LiveAnswer) =>
    messageId === id || (messageId === undefined && question === content)
  if (readLiveAnswers(sessionId).some(isFollowed)) return
  void follow(sessionId, { messageId: id }, undefined, settle)
}

/** Finds the message of an answer before its first event. */
const findPendingMessage = async (sessionId: string, question: string | undefined) =>
  (await readConversation(sessionId, { limit: 10 })).messages.findLast(
    ({ content, role, status }) => role === "user" && status === "pending" && content === question
  )?.id

/** Stops the answers in progress of a conversation. Their streams end them. */
export const stopAnswers = async (sessionId: string): Promise<void> => {
  const running = readLiveAnswers(sessionId).filter(({ failure, isStopping }) => failure === undefined && !isStopping)
  for (const { key, messageId, question } of running) {
    change(sessionId, key, { isStopping: true })
    try {
      const id = messageId ?? (await findPendingMessage(sessionId, question))
      if (id !== undefined) await call("POST", `/api/agent/messages/${segment(id)}/stop`)
    } catch (cause) {
      change(sessionId, key, { isStopping: false })
      throw cause
    }
  }
}
