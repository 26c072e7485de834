import { useEffect } from "react"

/** Names the page in the window and its history. */
export const useTitle = (title: string): void =>
  useEffect(() => {
    document.title = `${title} · Berth`
  }, [title])
