import { Either } from "effect"

const maximumUrlLength = 2_000

const isWebPort = (port: number) => port === 80 || port === 443 || port >= 1024

const portOf = (url: URL) => (url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port))

/** Parses an address, or returns the reason for its rejection. The host is checked at each connection. */
export const parsePageAddress = (text: string, base?: URL): Either.Either<URL, string> => {
  if (text.length > maximumUrlLength) return Either.left(`The address is longer than ${maximumUrlLength} characters.`)
  const address = text.trim()
  if (!URL.canParse(address, base?.href))
    return Either.left("That is no address of a web page. It begins with https:// and a host.")
  const url = new URL(address, base?.href)
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return Either.left("Only addresses that begin with http:// or https:// can be read.")
  if (url.username !== "" || url.password !== "") return Either.left("The address must not contain a user or password.")
  if (!isWebPort(portOf(url))) return Either.left("That port is not one of web pages.")
  return Either.right(url)
}
