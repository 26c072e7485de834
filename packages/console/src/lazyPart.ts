import { type ComponentType, lazy, type LazyExoticComponent } from "react"

const waitsMs = [0, 1_000, 3_000]
const reloadedKey = "reloaded-at"
const reloadInterval = 60_000

const isServed = async (): Promise<boolean> => {
  for (const wait of waitsMs) {
    await new Promise((resolve) => setTimeout(resolve, wait))
    const answer = await fetch(location.href, { method: "HEAD" }).catch(() => undefined)
    if (answer?.ok === true) return true
  }
  return false
}

/** Reloads the page, since browsers repeat no failed download of a module, and a new release has other files. */
const reload = async (failure: unknown): Promise<never> => {
  const isRepeated = Date.now() - Number(sessionStorage.getItem(reloadedKey)) < reloadInterval
  if (isRepeated || !(await isServed())) throw failure
  sessionStorage.setItem(reloadedKey, String(Date.now()))
  location.reload()
  return new Promise(() => undefined)
}

/** A component whose file is downloaded on first use. If that fails, the page is reloaded, at most once a minute. */
export const lazyPart = <Props>(
  load: () => Promise<{ readonly default: ComponentType<Props> }>
): LazyExoticComponent<ComponentType<Props>> => lazy(() => load().catch(reload))
