import { type DateTime, Encoding, Redacted } from "effect"
import type { A2aTask, A2aTaskId } from "./A2aTask.ts"

/** An address that receives the end of a task. The client chooses the secrets. */
export interface PushNotification {
  readonly taskId: A2aTaskId
  /** Chosen by the client or the service; unique within the task. */
  readonly id: string
  readonly url: string
  readonly token: Redacted.Redacted | null
  readonly authentication: { readonly scheme: string; readonly credentials: Redacted.Redacted | null } | null
}

export type NewPushNotification = Omit<PushNotification, "taskId" | "id"> & { readonly id: string | undefined }

/**
 * A notification that this worker claims until the claim expires. `attempt` counts from 1, also after a replacement.
 */
export interface ClaimedPush {
  readonly claimedUntil: DateTime.Utc
  readonly notification: PushNotification
  readonly task: A2aTask
  readonly attempt: number
}

/** The outcome of an attempt. `retryAt` is null after the last attempt. */
export type PushEnd = "delivered" | { readonly failure: string; readonly retryAt: DateTime.Utc | null }

export const maximumNotificationsPerTask = 5

/** Signing key in the format of Standard Webhooks. */
export const makePushSecret = (token: Redacted.Redacted): Redacted.Redacted =>
  Redacted.make(`whsec_${Encoding.encodeBase64(Redacted.value(token))}`)

/** Stable id of a notification's messages. A client's id can have characters that HTTP does not permit in a header. */
export const makePushId = ({ id, taskId }: Pick<PushNotification, "id" | "taskId">): string =>
  `${taskId}:${encodeURIComponent(id)}`

/** Authentication headers of a notification: the client's credentials, else its token. */
export const makePushHeaders = ({
  authentication,
  token
}: Pick<PushNotification, "authentication" | "token">): Readonly<Record<string, string>> => {
  const { credentials = null, scheme = "" } = authentication ?? {}
  if (credentials !== null) return { authorization: `${scheme} ${Redacted.value(credentials)}` }
  return token === null ? {} : { "x-a2a-notification-token": Redacted.value(token) }
}
