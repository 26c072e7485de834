import type { OAuthProviderName } from "@berth/domain/signin/OAuthProvider"
import { oauthTicketLifetime } from "@berth/domain/signin/OAuthTickets"
import { type SecretCookie, secretCookie } from "../http/SecretCookie.ts"

/** How the ticket of a sign-in travels in the browser that began it: back with a link from elsewhere, which is what a provider's answer is. */
export const oauthTicketCookie = (provider: OAuthProviderName, appUrl: URL): SecretCookie =>
  secretCookie(`berth_${provider.toLowerCase()}`, oauthTicketLifetime, appUrl)
