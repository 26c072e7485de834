import { toQueueText } from "./QueueJson.ts"

/** Encodes an id: BullMQ rejects colons and numbers. */
export const encodeJobKey = (id: string): string => `k-${Buffer.from(toQueueText(id)).toString("base64url")}`

export const decodeJobKey = (key: string): string =>
  key.startsWith("k-") ? Buffer.from(key.slice(2), "base64url").toString() : key
