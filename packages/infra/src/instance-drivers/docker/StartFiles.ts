import { Effect, Redacted } from "effect"
import { constants } from "node:fs"
import { lstat, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { homeName, instanceUid } from "../RuntimeImage.ts"
import type { TarEntry } from "./TarArchive.ts"

/** The runtime token, hidden from `docker inspect`. The runtime deletes the file after reading it. */
export const tokenFile = ".runtime-token"

/** Files written into the volume by a start: the home, and the token. */
export const makeStartFiles = (token: Redacted.Redacted): ReadonlyArray<TarEntry> => [
  { path: `${homeName}/`, mode: 0o700, uid: instanceUid },
  { path: `${homeName}/${tokenFile}`, mode: 0o400, uid: instanceUid, content: Redacted.value(token) }
]

/**
 * Writes the token into the home in a volume's directory on this host; false if impossible. The instance controls the
 * entries of the home but not of the volume, so the file is created anew and no link is followed.
 */
export const writeToken = (directory: string, token: Redacted.Redacted): Effect.Effect<boolean> => {
  const home = join(directory, homeName)
  const path = join(home, tokenFile)
  return Effect.tryPromise(async () => {
    const { gid, uid } = await lstat(home)
    // Created by the engine as the working directory, not by a start.
    if (uid === 0) return false
    await rm(path, { recursive: true, force: true })
    const file = await open(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      0o400
    )
    try {
      await file.chown(uid, gid)
      await file.writeFile(Redacted.value(token))
    } finally {
      await file.close()
    }
    return true
  }).pipe(Effect.orElseSucceed(() => false))
}
