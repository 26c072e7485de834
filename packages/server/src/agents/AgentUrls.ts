/** The URL of an instance's subdomain, with scheme and port of the web API. */
export const makeInstanceUrl = (subdomain: string, agentsDomain: string, appUrl: URL): string =>
  `${appUrl.protocol}//${subdomain}.${agentsDomain}${appUrl.port === "" ? "" : `:${appUrl.port}`}`

export const makeAgentWebSocketUrl = (agentId: string, appUrl: URL): string =>
  `${appUrl.protocol === "https:" ? "wss" : "ws"}://${appUrl.host}/agents/${agentId}/ws`
