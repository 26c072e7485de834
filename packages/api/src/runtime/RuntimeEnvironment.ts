/** Environment of the runtime, which receives no other variable of the platform. */
export const RuntimeEnvironment = {
  token: "BERTH_RUNTIME_TOKEN",
  /** Path of a file with the token instead; the runtime deletes it after reading it. */
  tokenFile: "BERTH_RUNTIME_TOKEN_FILE",
  backendUrl: "BERTH_BACKEND_URL",
  /** Home directory of the instance, absolute; the only writable one. */
  directory: "BERTH_RUNTIME_DIRECTORY",
  /** Path of the Unix socket to listen on, in a writable directory. */
  socket: "BERTH_RUNTIME_SOCKET",
  /** TCP port to listen on instead, on every address of a container. */
  port: "BERTH_RUNTIME_PORT",
  /** Limit of resident memory in MiB, above which the runtime exits. Absent: no such limit. */
  memoryMb: "BERTH_RUNTIME_MEMORY_MB",
  /** Quota of the directory in MiB; an instance far above it is stopped. Default: 64. */
  diskMb: "BERTH_RUNTIME_DISK_MB"
} as const

/** Name of the file in the instance's directory with the `RuntimeAddress` of a listening runtime. */
export const runtimeAddressFile = "runtime.json"
