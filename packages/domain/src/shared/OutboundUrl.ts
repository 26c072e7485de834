import { Either, Option } from "effect"

const maximumLength = 2048

/**
 * Parses an address that the service calls for a user; the error completes "`url`". The network is checked at each
 * connection.
 */
export const parseOutboundUrl = (
  text: string,
  { httpsOnly }: { readonly httpsOnly: boolean }
): Either.Either<URL, string> => {
  const url = Option.getOrNull(Option.liftThrowable((address: string) => new URL(address))(text))
  if (url === null) return Either.left("must be an absolute URL.")
  if (url.protocol !== "https:" && (httpsOnly || url.protocol !== "http:"))
    return Either.left(`must begin with https://${httpsOnly ? "" : " or http://"}.`)
  if (url.username !== "" || url.password !== "") return Either.left("must not contain a user name or password.")
  if (url.hash !== "") return Either.left("must not contain a fragment.")
  if (url.href.length > maximumLength) return Either.left(`must have at most ${maximumLength} characters.`)
  return Either.right(url)
}
