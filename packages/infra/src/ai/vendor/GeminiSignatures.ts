/** Gemini models since the third generation refuse calls without the signature that they gave them. */
export const requiresCallSignatures = (modelId: string): boolean => /^google\/gemini-([3-9]|\d\d)/.test(modelId)

/** Google's own word for the signature of a call that another model made. */
export const placeholderSignature = "skip_thought_signature_validator"
