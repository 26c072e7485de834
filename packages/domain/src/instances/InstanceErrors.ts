import { Data } from "effect"

export class InstanceNotOwned extends Data.TaggedError("InstanceNotOwned")<object> {}
export class InstanceNotFound extends Data.TaggedError("InstanceNotFound")<object> {}
/** The backend, which runs the instances, or their host does not answer. */
export class BackendUnavailable extends Data.TaggedError("BackendUnavailable")<{ readonly reason: string }> {}
/** The instance did not start or does not answer. */
export class InstanceUnavailable extends Data.TaggedError("InstanceUnavailable")<{ readonly reason: string }> {}
