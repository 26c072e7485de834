/** What this Node.js knows of the permission model; from `process.allowedNodeEnvironmentFlags`. */
export interface PermissionFlags {
  readonly switch: "--permission" | "--experimental-permission" | null
  /** From the version on that takes the network away too, it must be given back. */
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

/**
 * The heap's share of a cell's memory, in MiB. The rest is for the program itself (some 60 MiB stand before the first
 * turn) and for what lives outside of the heap.
 */
export const computeHeapMb = (memoryMb: number): number =>
  Math.max(32, Math.floor(memoryMb - Math.max(96, memoryMb / 8)))

/**
 * What an idle cell holds is paid for every owner, so the engine is told to prefer small to fast: 80 MB resident under
 * load instead of 130. The middle compiler is off for its size, and because it can hang a process that ends while it works.
 */
const sizeFlags = ["--max-semi-space-size=1", "--v8-pool-size=1", "--optimize-for-size", "--no-maglev"]

/** The C library's share in that: it would keep the 16 MB that are needed once, to read the program. */
export const allocatorEnvironment = { MALLOC_TRIM_THRESHOLD_: "131072", MALLOC_MMAP_THRESHOLD_: "65536" }

/** What allows a cell to write its own directory. Every cell's command line has it, so it also tells whose cell a process is. */
export const makeWriteFlag = (home: string): string => `--allow-fs-write=${home}/*`

export interface NodeFlagsOptions {
  readonly permission: PermissionFlags
  readonly memoryMb: number
  readonly bundle: string
  /** The cell's own directory. */
  readonly home: string
}

/** A cell reads its program and its own directory and writes the latter; no child processes, workers or native code. */
export const makeNodeFlags = ({ bundle, home, memoryMb, permission }: NodeFlagsOptions): ReadonlyArray<string> => [
  `--max-old-space-size=${computeHeapMb(memoryMb)}`,
  ...sizeFlags,
  ...(permission.switch === null
    ? []
    : [
        permission.switch,
        `--allow-fs-read=${bundle}`,
        `--allow-fs-read=${home}/*`,
        makeWriteFlag(home),
        ...(permission.net ? ["--allow-net"] : []),
        "--disable-warning=ExperimentalWarning"
      ])
]
