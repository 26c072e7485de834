import { mkdir } from "node:fs/promises"

/**
 * Makes the service's data directory, or another one that holds private ones, when it is not there. Under root others may pass
 * through it, though not look: what runs by an account of its own, a cell or the database, has its place below.
 */
export const makeDataDirectory = async (directory: string): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
}
