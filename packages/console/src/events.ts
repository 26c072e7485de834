import { makeSseParser, type SseEvent } from "@berth/api/http/Sse"

/** Reads the server-sent events of a response to its end. */
export const readEvents = async (response: Response, onEvent: (event: SseEvent) => void): Promise<void> => {
  const parser = makeSseParser()
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read())
    for (const event of parser.push(decoder.decode(part.value, { stream: true }))) onEvent(event)
}

const longestWaitMs = 8_000

/** Waits longer with each attempt, but at most until the browser is online. */
export const waitToRetry = (attempt: number) =>
  new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener("online", done)
      resolve()
    }
    const timer = setTimeout(done, Math.min(longestWaitMs, 500 * 2 ** attempt))
    addEventListener("online", done)
  })
