import type { User } from "../shared/User.ts"

/** A user in outbound events. */
export const summarizeUser = ({ email, id, name, plan }: User) => ({ userId: id, email, name, plan })
