/** The runtime's environment; nothing else of the platform's environment reaches it. */
export const RuntimeEnvironment = {
  token: "BERTH_RUNTIME_TOKEN",
  /** Path of a file that holds the token instead; the runtime deletes it once it has read it. */
  tokenFile: "BERTH_RUNTIME_TOKEN_FILE",
  backendUrl: "BERTH_BACKEND_URL",
  /** The instance's own directory, absolute: the only writable one. */
  directory: "BERTH_RUNTIME_DIRECTORY",
  /** Path of the Unix socket to listen on; its directory is writable. */
  socket: "BERTH_RUNTIME_SOCKET",
  /** TCP port to listen on instead, on every address of a container. */
  port: "BERTH_RUNTIME_PORT",
  /** Limit of resident memory in MiB, above which the runtime exits. Absent: no limit of its own. */
  memoryMb: "BERTH_RUNTIME_MEMORY_MB",
  /** Quota of the directory in MiB; an instance well above it is stopped. Absent: 64. */
  diskMb: "BERTH_RUNTIME_DISK_MB"
} as const

/** Name of the file in the instance's directory that holds the `RuntimeAddress` of a listening runtime. */
export const runtimeAddressFile = "runtime.json"
