import type { OAuthProviderName } from "@berth/domain/signin/oauth/OAuthProvider"
import { oauthTicketLifetime } from "@berth/domain/signin/oauth/OAuthTickets"
import { type SecretCookie, makeSecretCookie } from "../http/SecretCookie.ts"

/** How the ticket of a sign-in travels in the browser that began it: back with a link from elsewhere, which is what a provider's answer is. */
export const makeOAuthTicketCookie = (provider: OAuthProviderName, appUrl: URL): SecretCookie =>
  makeSecretCookie(`berth_${provider.toLowerCase()}`, oauthTicketLifetime, appUrl)
