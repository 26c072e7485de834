/** Pace of a fast model: 50 tokens a second for four seconds. */
export const pace = { tokens: 200, firstAfterMs: 200, everyMs: 20 } as const

/** Occurs once in every token and nowhere else in a response. */
export const tokenMark = "~"
