/** How a program says why it ended. 0 means that it was asked to. */

/** It crashed, and may be started again. */
export const failedExitCode = 1

/** What it was told cannot work (a bad setting, a port that is taken): starting it again would change nothing. */
export const misconfiguredExitCode = 78
