import type { UserId } from "../accounts/User.ts"

/** The DNS label of an owner's instance: his id as a label, unique because ids are. */
export const subdomainFor = (userId: UserId): string => userId.toLowerCase().replace(/[^a-z0-9]+/g, "-")
