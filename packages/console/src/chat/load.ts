import { useEffect } from "react"

/** Loads the chat and its Markdown parser, which would delay the first view. */
export const loadChat = () => import("./ChatTab.tsx")

/** Loads the chat once the page is shown, since most visits open one. */
export const usePreloadedChat = () =>
  useEffect(() => {
    // The tab reloads the page.
    loadChat().catch(() => undefined)
  }, [])
