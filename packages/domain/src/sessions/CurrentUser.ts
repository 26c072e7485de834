import { Context } from "effect"
import type { User } from "../shared/User.ts"
import type { SessionId } from "./Session.ts"

/** User and session of the current request, provided by the authentication middleware. */
export class CurrentUser extends Context.Tag("@berth/CurrentUser")<
  CurrentUser,
  { readonly user: User; readonly sessionId: SessionId }
>() {}
