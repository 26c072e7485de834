import { useState } from "react"

/** Changes to stored values: what differs is a draft until it is saved or discarded. */
export const useDraft = <A extends object>(stored: A) => {
  const [changes, setChanges] = useState<Partial<A>>({})
  return {
    draft: { ...stored, ...changes },
    changes,
    isChanged: Object.keys(changes).length > 0,
    change: (more: Partial<A>) => setChanges({ ...changes, ...more }),
    discard: () => setChanges({})
  }
}
