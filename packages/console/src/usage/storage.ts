import { formatSize } from "../format.ts"
import { texts } from "../texts.ts"
import type { InstanceStorageJson } from "../wire.ts"

/** Formats the used storage and the limit; null while the instance is down. */
export const describeStorage = ({ limitBytes, usedBytes }: InstanceStorageJson): string | null =>
  usedBytes === null ? null : texts.files.usedOf(formatSize(usedBytes), formatSize(limitBytes))
