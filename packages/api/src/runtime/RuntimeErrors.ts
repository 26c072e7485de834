/** A rejection by the runtime before a stream begins: status and body. */
export interface RuntimeRejection {
  readonly status: number
  readonly error: string
  readonly message: string
}

export const RuntimeErrors = {
  malformedBody: { status: 400, error: "body_malformed", message: "The body is not JSON." },
  tokenInvalid: { status: 401, error: "unauthorized", message: "Send this instance's runtime token as bearer token." },
  agentNotFound: { status: 404, error: "agent_not_found", message: "This instance has no such agent." },
  routeNotFound: { status: 404, error: "not_found", message: "This path does not exist." },
  bodyTooLarge: { status: 413, error: "body_too_large", message: "The body is too large or was not sent completely." },
  internal: { status: 500, error: "internal", message: "The runtime failed at this request." },
  busy: { status: 503, error: "busy", message: "Too many turns wait in this instance." },
  stopping: { status: 503, error: "stopping", message: "This instance is stopping." }
} as const satisfies Readonly<Record<string, RuntimeRejection>>

export const makeInvalidRequest = (message: string): RuntimeRejection => ({
  status: 400,
  error: "invalid_request",
  message
})

/** Whether a status rejects the request itself; other statuses concern the runtime's state. */
export const isRequestFault = (status: number): boolean => status === 400 || status === 404 || status === 413
