import type { Option } from "effect"
import type { User } from "../shared/User.ts"

export interface UserQuery {
  /** The beginning of the email address, in any case, or the id. */
  readonly text: Option.Option<string>
  readonly limit: number
  readonly offset: number
}

export interface UserPage {
  readonly users: ReadonlyArray<User>
  /** Full count. */
  readonly total: number
}
