import { Context } from "effect"

/** The operator's settings of instances. */
export class InstanceSettings extends Context.Tag("@berth/InstanceSettings")<
  InstanceSettings,
  {
    /** Base address of the backend API as an instance reaches it. */
    readonly backendUrl: string
  }
>() {}
