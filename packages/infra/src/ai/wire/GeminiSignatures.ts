/** Gemini models since the third generation refuse calls without the signature that they gave them. */
export const wantsSignatures = (modelId: string): boolean => /^google\/gemini-([3-9]|\d\d)/.test(modelId)

/** Google's own word for the signature of a call that another model made. */
export const foreignSignature = "skip_thought_signature_validator"
