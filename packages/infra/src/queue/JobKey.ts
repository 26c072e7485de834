import { toQueueText } from "./QueueJson.ts"

/** BullMQ refuses ids with a colon and ids that are numbers, so every id travels encoded. */
export const encodeJobKey = (id: string): string => `k-${Buffer.from(toQueueText(id)).toString("base64url")}`

export const decodeJobKey = (key: string): string =>
  key.startsWith("k-") ? Buffer.from(key.slice(2), "base64url").toString() : key
