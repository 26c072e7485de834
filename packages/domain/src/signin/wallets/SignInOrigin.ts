import { Context } from "effect"

/** The address that people sign in at: `APP_URL`. */
export class SignInOrigin extends Context.Tag("@berth/SignInOrigin")<SignInOrigin, URL>() {}
