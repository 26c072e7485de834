import { Context } from "effect"

/** What the operator says on the pages. */
export class PageSettings extends Context.Tag("@berth/PageSettings")<
  PageSettings,
  {
    /** Whom to ask for what is not sold by card. */
    readonly salesEmail: string
  }
>() {}
