import type { Chain } from "@berth/domain/chain/Chain"
import {
  maximumSignatureBytes,
  type SignatureVerdict,
  type SignedMessage,
  SmartWalletSignatures
} from "@berth/domain/chain/SmartWalletSignatures"
import { normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { Effect, Layer } from "effect"
import {
  encodeDeployData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  hashMessage,
  type Hex,
  isHex,
  recoverMessageAddress,
  size
} from "viem"
import { call } from "viem/actions"
import { type ChainNode, isExecutionFailure, toViemAddress } from "./ChainNode.ts"

/** Limits looping contracts; the deployment of a wallet takes about 500,000. */
const gasLimit = 10_000_000n
/** Bytes of r, s, v. */
const plainSignatureLength = 65

const readSignature = (text: string): Hex | undefined =>
  isHex(text, { strict: true }) && text.length % 2 === 0 && text.length > 2 && size(text) <= maximumSignatureBytes
    ? text
    : undefined

const isSignedByKey = ({ address, message }: SignedMessage, signature: Hex) =>
  size(signature) === plainSignatureLength
    ? Effect.promise(() =>
        recoverMessageAddress({ message, signature }).then(
          (signer) => signer.toLowerCase() === normalizeWalletAddress(address),
          // The signature is not a point on the curve.
          () => false
        )
      )
    : Effect.succeed(false)

const decodeVerdict = (answer: unknown): SignatureVerdict => {
  if (answer === "0x01") return "valid"
  if (answer === "0x00") return "invalid"
  throw new Error("unexpected validator result")
}

/**
 * Recovers EOA signatures locally; other signatures run the ERC-6492 validator in an eth_call, which also deploys
 * counterfactual wallets there.
 */
export const layer = (nodes: Record<Chain, ChainNode>): Layer.Layer<SmartWalletSignatures> => {
  const callValidator = ({ address, chain, message }: SignedMessage, signature: Hex) => {
    const data = encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      bytecode: erc6492SignatureValidatorByteCode,
      args: [toViemAddress(address), hashMessage(message), signature]
    })
    return nodes[chain].call(
      async (client): Promise<SignatureVerdict> => decodeVerdict((await call(client, { data, gas: gasLimit })).data),
      (error) => (isExecutionFailure(error) ? "invalid" : undefined)
    )
  }

  return Layer.succeed(SmartWalletSignatures, {
    verify: Effect.fn("SmartWalletSignatures.verify")(function* (signed: SignedMessage) {
      const signature = readSignature(signed.signature)
      if (signature === undefined) return "invalid"
      if (yield* isSignedByKey(signed, signature)) return "valid"
      return yield* callValidator(signed, signature)
    })
  })
}
