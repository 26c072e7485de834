import { randomUUID } from "node:crypto"
import { chmod, rename, rm, writeFile } from "node:fs/promises"

/** Writes a file atomically: readers see either the old or the new content. `mode` applies regardless of the umask. */
export const writeFileAtomically = async (path: string, content: string | Uint8Array, mode = 0o600): Promise<void> => {
  const draft = `${path}.${randomUUID()}`
  try {
    await writeFile(draft, content, { mode: 0o600, flag: "wx" })
    await chmod(draft, mode)
    await rename(draft, path)
  } catch (cause) {
    await rm(draft, { force: true })
    throw cause
  }
}
