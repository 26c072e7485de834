import { Option, Redacted } from "effect"
import type { Settings } from "./Settings.ts"

/** A Tempo chain, and one of its nodes. */
interface TempoNetwork {
  /** EIP-155. */
  readonly chainId: number
  readonly rpcUrl: Redacted.Redacted<URL>
}

const mainnet = 4217
const testnet = 42_431
const publicNodes = new Map([
  [mainnet, "https://rpc.tempo.xyz"],
  [testnet, "https://rpc.moderato.tempo.xyz"]
])

/** Returns the chain of machine payments: mainnet in production, else the testnet. None without a node URL. */
export const resolveTempoNetwork = ({
  environment,
  mpp
}: Pick<Settings, "environment" | "mpp">): Option.Option<TempoNetwork> => {
  const chainId = Option.getOrElse(mpp.chainId, () => (environment === "production" ? mainnet : testnet))
  const known = Option.map(Option.fromNullable(publicNodes.get(chainId)), (url) => Redacted.make(new URL(url)))
  return Option.map(
    Option.orElse(mpp.rpcUrl, () => known),
    (rpcUrl) => ({ chainId, rpcUrl })
  )
}
