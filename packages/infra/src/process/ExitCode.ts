/** A crash; the supervisor restarts the program. */
export const failedExitCode = 1

/** Invalid settings (EX_CONFIG of sysexits); a restart would not help. */
export const misconfiguredExitCode = 78
