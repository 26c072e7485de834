import type { User } from "../shared/User.ts"

export const summarizeUser = ({ email, id, name, plan }: User) => ({ userId: id, email, name, plan })
