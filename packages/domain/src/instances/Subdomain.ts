import type { UserId } from "../shared/User.ts"

/** The DNS label of an owner's instance: his id as a label, unique because ids are. */
export const makeSubdomain = (userId: UserId): string => userId.toLowerCase().replace(/[^a-z0-9]+/g, "-")
