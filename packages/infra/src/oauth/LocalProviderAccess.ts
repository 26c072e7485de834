import { allowInsecureRequests, type Configuration } from "openid-client"

/**
 * Lets a provider of this machine be asked without TLS. Used for an address of http only, and what the provider then names
 * is asked through a `fetch` that takes no other unsafe address. The library knows it by its identity, so it is not wrapped.
 */
// oxlint-disable-next-line typescript/no-deprecated -- marked so to stand out
export const allowHttp: (configuration: Configuration) => void = allowInsecureRequests
