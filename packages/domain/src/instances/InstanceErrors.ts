import { Data } from "effect"

export class InstanceNotOwned extends Data.TaggedError("InstanceNotOwned")<object> {}
export class InstanceNotFound extends Data.TaggedError("InstanceNotFound")<object> {}
/** The backend that runs the instances, or their host, does not respond. */
export class BackendUnavailable extends Data.TaggedError("BackendUnavailable")<{ readonly reason: string }> {}
/** The instance did not start or does not respond. */
export class InstanceUnavailable extends Data.TaggedError("InstanceUnavailable")<{ readonly reason: string }> {}
