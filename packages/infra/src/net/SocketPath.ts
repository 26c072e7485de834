/** Maximum bytes on macOS; Linux allows four more. */
const maximumLength = 103

/** Whether a Unix socket can have the path. */
export const fitsSocket = (path: string): boolean => Buffer.byteLength(path) <= maximumLength
