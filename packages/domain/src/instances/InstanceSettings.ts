import { Context, type Duration, type Option } from "effect"

export class InstanceSettings extends Context.Tag("@berth/InstanceSettings")<
  InstanceSettings,
  {
    /** Base address of the backend API, as reachable from an instance. */
    readonly backendUrl: string
    /** Idle time after which an instance sleeps; none disables sleep. */
    readonly idleAfter: Option.Option<Duration.Duration>
  }
>() {}
