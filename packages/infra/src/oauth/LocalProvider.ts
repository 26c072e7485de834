import { allowInsecureRequests, type Configuration } from "openid-client"

/**
 * Lets a provider of this machine be asked without TLS. Called so for an address of http only, and what the provider then
 * names is asked through a `fetch` that takes no other unsafe address.
 */
export const allowHttp = (configuration: Configuration): void => {
  // oxlint-disable-next-line typescript/no-deprecated -- marked so to stand out
  allowInsecureRequests(configuration)
}
