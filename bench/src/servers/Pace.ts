/** How the paced upstream speaks: a model that is quick to begin and quick to go on. */
export const pace = { tokens: 100, firstAfterMs: 200, everyMs: 10 } as const

/** Stands once in every token and nowhere else on any wire. */
export const tokenMark = "~"
