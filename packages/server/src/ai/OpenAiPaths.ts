import { makeOpenAiFailure } from "@berth/api/ai/OpenAiErrors"
import type { ReshapeError } from "../http/ErrorEnvelope.ts"

/** Bodies contain images and histories. */
export const openAiBodyLimit = 8 * 1024 * 1024

/** Paths of OpenAI's protocol, on both listeners. */
export const isOpenAiPath = (path: string): boolean => path.startsWith("/v1/")

/** Errors of these paths use OpenAI's format. */
export const reshapeErrors = (path: string): ReshapeError | undefined =>
  isOpenAiPath(path) ? makeOpenAiFailure : undefined
