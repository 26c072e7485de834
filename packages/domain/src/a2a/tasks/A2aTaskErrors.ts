import { Data } from "effect"

export class A2aTaskNotFound extends Data.TaggedError("A2aTaskNotFound")<object> {}
/** The task has ended. */
export class A2aTaskNotCancelable extends Data.TaggedError("A2aTaskNotCancelable")<object> {}
/** The operation is not supported, or not for this task. */
export class A2aOperationUnsupported extends Data.TaggedError("A2aOperationUnsupported")<{ readonly reason: string }> {}
export class A2aContentUnsupported extends Data.TaggedError("A2aContentUnsupported")<{ readonly reason: string }> {}
/** The request is inconsistent or conflicts with an earlier request. */
export class A2aRequestInvalid extends Data.TaggedError("A2aRequestInvalid")<{ readonly reason: string }> {}
export class A2aVersionUnsupported extends Data.TaggedError("A2aVersionUnsupported")<{ readonly requested: string }> {}
export class A2aTaskLimitReached extends Data.TaggedError("A2aTaskLimitReached")<{ readonly limit: number }> {}
export class PushNotificationNotFound extends Data.TaggedError("PushNotificationNotFound")<object> {}
