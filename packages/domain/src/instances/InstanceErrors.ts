import { Data } from "effect"

export class InstanceNotOwned extends Data.TaggedError("InstanceNotOwned")<object> {}
export class InstanceNotFound extends Data.TaggedError("InstanceNotFound")<object> {}
/** The backend, which owns the cells, does not answer. */
export class BackendUnavailable extends Data.TaggedError("BackendUnavailable")<{ readonly reason: string }> {}
/** The cell did not come up, or does not answer. */
export class InstanceUnavailable extends Data.TaggedError("InstanceUnavailable")<{ readonly reason: string }> {}
