import { storableText } from "./StorableJson.ts"

/** BullMQ refuses ids with a colon and ids that are numbers, so every id travels encoded. */
export const jobKey = (id: string): string => `k-${Buffer.from(storableText(id)).toString("base64url")}`

export const jobIdOf = (key: string): string =>
  key.startsWith("k-") ? Buffer.from(key.slice(2), "base64url").toString() : key
