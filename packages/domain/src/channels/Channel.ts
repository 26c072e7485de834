import { Schema } from "effect"

/** A way in which people reach an agent. */
export const Channel = Schema.Literal("platformA", "platformB", "platformC", "web").annotations({
  identifier: "Channel"
})
export type Channel = typeof Channel.Type
