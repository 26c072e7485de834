import { Data, Either } from "effect"

/** Address of the Docker Engine, from the same variables as for the `docker` command. */
export type EngineAddress = Data.TaggedEnum<{
  Socket: { readonly path: string }
  Tcp: { readonly origin: string; readonly certificates: string | null }
}>
export const EngineAddress = Data.taggedEnum<EngineAddress>()

export const defaultEngineSocket = "/var/run/docker.sock"

/** Parses `DOCKER_HOST`. `certificates` is the directory of ca.pem, cert.pem and key.pem; null without TLS. */
export const parseEngineAddress = (host: string, certificates: string | null): Either.Either<EngineAddress, string> => {
  const socket = /^unix:\/\/(\/.+)$/.exec(host)?.[1]
  if (socket !== undefined) return Either.right(EngineAddress.Socket({ path: socket }))
  const authority = /^(?:tcp|https?):\/\/([^/]+)\/?$/.exec(host)?.[1]
  if (authority === undefined) return Either.left("must be unix:///path or tcp://host:port")
  const isTls = certificates !== null || host.startsWith("https:")
  const port = /:\d+$/.test(authority) ? "" : isTls ? ":2376" : ":2375"
  return Either.right(EngineAddress.Tcp({ origin: `${isTls ? "https" : "http"}://${authority}${port}`, certificates }))
}

export const formatEngineAddress: (address: EngineAddress) => string = EngineAddress.$match({
  Socket: ({ path }) => `unix://${path}`,
  Tcp: ({ origin }) => origin
})
