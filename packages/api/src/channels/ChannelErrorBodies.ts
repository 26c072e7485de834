import { ChannelNotConnected, WebhookMalformed, WebhookNotAuthentic } from "@berth/domain/channels/ChannelErrors"
import { plainErrorBody } from "../http/ErrorBody.ts"

export const ChannelNotConnectedBody = plainErrorBody(ChannelNotConnected, {
  status: 400,
  error: "Channel not connected",
  message: "token: the agent has no connection to this platform yet. Send the token of a bot."
})

// The same body for every cause, so that it reveals neither the failed check nor which agents exist.
export const WebhookNotAuthenticBody = plainErrorBody(WebhookNotAuthentic, {
  status: 401,
  error: "Unauthorized",
  message: "The request does not contain the secret of a connected agent."
})
export const WebhookMalformedBody = plainErrorBody(WebhookMalformed, {
  status: 400,
  error: "Malformed update",
  message: "The body is not an update of the platform."
})
