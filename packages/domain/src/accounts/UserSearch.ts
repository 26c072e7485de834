import type { Option } from "effect"
import type { User } from "../shared/User.ts"

export interface UserQuery {
  /** Case-insensitive prefix of the email address, or the id. */
  readonly text: Option.Option<string>
  readonly limit: number
  readonly offset: number
}

export interface UserPage {
  readonly users: ReadonlyArray<User>
  /** Count of all matches. */
  readonly total: number
}
