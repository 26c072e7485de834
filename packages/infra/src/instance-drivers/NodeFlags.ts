import { dirname } from "node:path"
import nodeSizeFlags from "./node-size-flags.json" with { type: "json" }

/** Support of this Node.js for the permission model, according to `process.allowedNodeEnvironmentFlags`. */
export interface PermissionFlags {
  readonly switch: "--permission" | "--experimental-permission" | null
  /** Required by versions whose permission model includes the network: `--allow-net`. */
  readonly net: boolean
}

export const detectPermissionFlags = (known: { readonly has: (flag: string) => boolean }): PermissionFlags => ({
  switch: known.has("--permission")
    ? "--permission"
    : known.has("--experimental-permission")
      ? "--experimental-permission"
      : null,
  net: known.has("--allow-net")
})

/** The same for another Node.js version, such as `24.1.0`. None for an unknown version. */
export const permissionFlagsOfVersion = (version: string): PermissionFlags => {
  const [, major, minor] = (/^v?(\d+)\.(\d+)\./.exec(version) ?? []).map(Number)
  if (major === undefined || minor === undefined || major < 20) return { switch: null, net: false }
  const isStable = major > 23 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13)
  return { switch: isStable ? "--permission" : "--experimental-permission", net: major >= 25 }
}

/**
 * Returns the heap's share of an instance's memory in MiB. The rest is for the program (60 MiB before a turn) and
 * external memory.
 */
export const computeHeapMb = (memoryMb: number): number =>
  Math.max(32, Math.floor(memoryMb - Math.max(96, memoryMb / 8)))

/**
 * Idle memory is a cost per owner, so V8 optimizes for size: 80 MB resident under load instead of 130. Maglev is
 * disabled for its size, and since it can hang a process that exits during a compilation.
 */
const sizeFlags: ReadonlyArray<string> = nodeSizeFlags

/** Makes glibc release the 16 MB that only loading the program requires. */
export const allocatorEnvironment = { MALLOC_TRIM_THRESHOLD_: "131072", MALLOC_MMAP_THRESHOLD_: "65536" }

/** Grants write access to a directory. It also identifies an instance by its command line. */
export const makeWriteFlag = (home: string): string => `--allow-fs-write=${home}/*`

interface NodeFlagsOptions {
  readonly permission: PermissionFlags
  readonly memoryMb: number
  /** Entry of the program; its folder contains nothing else. */
  readonly bundle: string
  readonly home: string
  /** Directory of the instance's socket, if any. */
  readonly sockets?: string
}

/**
 * Grants reading the program, and reading and writing the home directory; excludes child processes, workers and native
 * code.
 */
export const makeNodeFlags = ({
  bundle,
  home,
  memoryMb,
  permission,
  sockets
}: NodeFlagsOptions): ReadonlyArray<string> => [
  `--max-old-space-size=${computeHeapMb(memoryMb)}`,
  ...sizeFlags,
  ...(permission.switch === null
    ? []
    : [
        permission.switch,
        `--allow-fs-read=${dirname(bundle)}/*`,
        `--allow-fs-read=${home}/*`,
        makeWriteFlag(home),
        ...(sockets === undefined ? [] : [makeWriteFlag(sockets)]),
        ...(permission.net ? ["--allow-net"] : []),
        "--disable-warning=ExperimentalWarning"
      ])
]
