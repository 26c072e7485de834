import { useEffect } from "react"

/** The chat with its Markdown parser, which would delay the first view. */
export const loadChat = () => import("./ChatTab.tsx")

/** Loads the chat once the page is shown, since most visits open one. */
export const usePreloadedChat = () =>
  useEffect(() => {
    // The tab tries again, and shows the failure.
    loadChat().catch(() => undefined)
  }, [])
