import { useEffect } from "react"

/** Sets the title in the window and its history. */
export const useTitle = (title: string): void =>
  useEffect(() => {
    document.title = `${title} · Berth`
  }, [title])
