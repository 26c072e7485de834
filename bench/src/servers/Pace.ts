/** Pace of a fast model. */
export const pace = { tokens: 100, firstAfterMs: 200, everyMs: 10 } as const

/** Occurs once in every token and nowhere else in a response. */
export const tokenMark = "~"
