import { Data } from "effect"

/** The caller has no task with this id at the agent. */
export class A2aTaskNotFound extends Data.TaggedError("A2aTaskNotFound")<object> {}
/** The task has ended. */
export class A2aTaskNotCancelable extends Data.TaggedError("A2aTaskNotCancelable")<object> {}
/** The operation does not exist here, or not for this task. */
export class A2aOperationUnsupported extends Data.TaggedError("A2aOperationUnsupported")<{ readonly reason: string }> {}
/** The agent takes or gives no content of this type. */
export class A2aContentUnsupported extends Data.TaggedError("A2aContentUnsupported")<{ readonly reason: string }> {}
/** The request contradicts itself or an earlier one. */
export class A2aRequestInvalid extends Data.TaggedError("A2aRequestInvalid")<{ readonly reason: string }> {}
/** The version of the protocol is not served. */
export class A2aVersionUnsupported extends Data.TaggedError("A2aVersionUnsupported")<{ readonly requested: string }> {}
/** The caller has too many tasks in progress at the agent. */
export class A2aTaskLimitReached extends Data.TaggedError("A2aTaskLimitReached")<{ readonly limit: number }> {}
/** The task has no notification with this id. */
export class PushNotificationNotFound extends Data.TaggedError("PushNotificationNotFound")<object> {}
