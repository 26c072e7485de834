import {
  BackendIsUnavailable,
  CellIsUnavailable,
  InstanceIsNotYours,
  InstanceIsUnknown
} from "@berth/domain/instances/InstanceErrors"
import { Data } from "effect"
import { lifecycleErrorBody } from "../http/ErrorBody.ts"

/** No session, in the lifecycle group's own shape. */
export class LifecycleNotSignedIn extends Data.TaggedError("LifecycleNotSignedIn")<object> {}

/** An internal failure in the lifecycle group's own shape. */
export class LifecycleFailed extends Data.TaggedError("LifecycleFailed")<object> {}

export const LifecycleNotSignedInBody = lifecycleErrorBody(LifecycleNotSignedIn, {
  status: 401,
  code: "unauthorized",
  error: "Unauthorized",
  message: "Sign in first: this needs a valid session.",
  read: () => new LifecycleNotSignedIn()
})
export const InstanceIsNotYoursBody = lifecycleErrorBody(InstanceIsNotYours, {
  status: 403,
  code: "not_owner",
  error: "Forbidden",
  message: "This instance is not yours.",
  read: () => new InstanceIsNotYours()
})
export const InstanceIsUnknownBody = lifecycleErrorBody(InstanceIsUnknown, {
  status: 404,
  code: "instance_not_found",
  error: "Instance not found",
  message: "You have no instance yet; provision an agent first.",
  read: () => new InstanceIsUnknown()
})
export const BackendIsUnavailableBody = lifecycleErrorBody(BackendIsUnavailable, {
  status: 502,
  code: "backend_unavailable",
  error: "Backend unavailable",
  message: ({ reason }) => `The agent backend is unavailable: ${reason}`,
  read: (message) => new BackendIsUnavailable({ reason: message.replace(/^The agent backend is unavailable: /, "") })
})
export const CellIsUnavailableBody = lifecycleErrorBody(CellIsUnavailable, {
  status: 502,
  code: "instance_unavailable",
  error: "Instance unavailable",
  message: ({ reason }) => `The instance is unavailable: ${reason}`,
  read: (message) => new CellIsUnavailable({ reason: message.replace(/^The instance is unavailable: /, "") })
})
/** What any failure that is none of the above looks like in this group. Only ever read: it is told outside the endpoints. */
export const LifecycleFailedBody = lifecycleErrorBody(LifecycleFailed, {
  status: 500,
  code: "internal",
  error: "internal",
  message: "Something went wrong on our side. Quote the traceId when you report it.",
  read: () => new LifecycleFailed()
})
