import { Context } from "effect"

/** The address that people sign in at: `APP_URL`. */
export class SignInSite extends Context.Tag("@berth/SignInSite")<SignInSite, URL>() {}
