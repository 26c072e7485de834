import { Context, type Duration, type Option } from "effect"

/** The operator's settings of instances. */
export class InstanceSettings extends Context.Tag("@berth/InstanceSettings")<
  InstanceSettings,
  {
    /** Base address of the backend API as an instance reaches it. */
    readonly backendUrl: string
    /** Idle time after which an instance sleeps. None: it never sleeps. */
    readonly idleAfter: Option.Option<Duration.Duration>
  }
>() {}
