import type { ImageSource } from "@berth/domain/ai/chat/ContentPart"

/** An image as an address: its own, or one that holds it. */
export const toImageUrl = (source: ImageSource): string =>
  source.type === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`

const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif"
}

/** What an image at an address is likely to be, by the end of its path; null where that says nothing. */
export const guessMediaType = (url: string): string | null =>
  mediaTypes[/\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ""] ?? null
