import {
  BackendUnavailable,
  InstanceUnavailable,
  InstanceNotOwned,
  InstanceNotFound
} from "@berth/domain/instances/InstanceErrors"
import { Data } from "effect"
import { lifecycleErrorBody } from "../http/ErrorBody.ts"

export class LifecycleAuthenticationRequired extends Data.TaggedError("LifecycleAuthenticationRequired")<object> {}

/** An internal failure, in the lifecycle group's error format. */
export class LifecycleFailed extends Data.TaggedError("LifecycleFailed")<object> {}

export const LifecycleAuthenticationRequiredBody = lifecycleErrorBody(LifecycleAuthenticationRequired, {
  status: 401,
  error: "Unauthorized",
  message: "Sign in first: this needs a valid session.",
  read: () => new LifecycleAuthenticationRequired()
})
export const InstanceNotOwnedBody = lifecycleErrorBody(InstanceNotOwned, {
  status: 403,
  error: "Forbidden",
  message: "This instance is not yours.",
  read: () => new InstanceNotOwned()
})
export const InstanceNotFoundBody = lifecycleErrorBody(InstanceNotFound, {
  status: 404,
  error: "Instance not found",
  message: "You have no instance yet; provision an agent first.",
  read: () => new InstanceNotFound()
})
export const BackendUnavailableBody = lifecycleErrorBody(BackendUnavailable, {
  status: 502,
  error: "Backend unavailable",
  message: ({ reason }) => `The instance cannot be managed: ${reason}`,
  example: new BackendUnavailable({ reason: "the agent backend cannot be reached. Try again later." }),
  read: (message) => new BackendUnavailable({ reason: message.replace(/^The instance cannot be managed: /, "") })
})
export const InstanceUnavailableBody = lifecycleErrorBody(InstanceUnavailable, {
  status: 502,
  error: "Instance unavailable",
  message: ({ reason }) => `The instance is unavailable: ${reason}`,
  example: new InstanceUnavailable({ reason: "it did not start in time" }),
  read: (message) => new InstanceUnavailable({ reason: message.replace(/^The instance is unavailable: /, "") })
})
/** Any other failure. Decoded by clients only, since the pipeline encodes it. */
export const LifecycleFailedBody = lifecycleErrorBody(LifecycleFailed, {
  status: 500,
  error: "internal",
  message: "Something went wrong on our side. Quote the traceId when you report it.",
  read: () => new LifecycleFailed()
})
