import { Data } from "effect"

export class InstanceIsNotYours extends Data.TaggedError("InstanceIsNotYours")<object> {}
export class InstanceIsUnknown extends Data.TaggedError("InstanceIsUnknown")<object> {}
/** The backend, which owns the cells, does not answer. */
export class BackendIsUnavailable extends Data.TaggedError("BackendIsUnavailable")<{ readonly reason: string }> {}
/** The cell did not come up, or does not answer. */
export class CellIsUnavailable extends Data.TaggedError("CellIsUnavailable")<{ readonly reason: string }> {}
