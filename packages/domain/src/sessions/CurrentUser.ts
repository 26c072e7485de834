import { Context } from "effect"
import type { User } from "../shared/User.ts"
import type { SessionId } from "./Session.ts"

/** Who makes this request, as the authentication middleware has proved it. */
export class CurrentUser extends Context.Tag("@berth/CurrentUser")<
  CurrentUser,
  { readonly user: User; readonly sessionId: SessionId }
>() {}
