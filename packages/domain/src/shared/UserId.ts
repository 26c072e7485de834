import { idSchema } from "../ids/IdGenerator.ts"

export const UserId = idSchema("UserId", "A user's id, usr_…")
export type UserId = typeof UserId.Type
